// Of the feed-forward networks of a layer, what selective recomputation does again.
#pragma once

#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// Elements of a token that the networks keep (LayerKind::kept_inner) and do not: those of whole networks, and of
// others the ones around the activation function.
struct NetworksAgain {
  double whole = 0, activated = 0;
  bool experts = false;       // the routed experts are among the whole, with router and exchange
  bool limits_again = false;  // what is limited before the experts' activation is made again
};

// `rows`: those of routed experts, in units of the tokens that visit them.
NetworksAgain networks_again(const Recomputed& what, const LayerKind& kind, double rows);

// Whether the product with a matrix of a layer is done again with its whole network.
bool done_again(const Recomputed& what, const Matrix& matrix);

}  // namespace orrery::cluster
