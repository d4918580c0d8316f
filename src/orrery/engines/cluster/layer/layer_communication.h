// The communication of a layer: what its collectives take, and how much of that goes beside its operators.
#pragma once

#include "orrery/engines/cluster/layer/layer.h"

namespace orrery::cluster {

// Seconds that a layer's collectives take: those of either pass, where they differ by pass.
struct CollectiveSeconds {
  double tp = 0, ep = 0, cp_forward = 0, cp_backward = 0;
};

CollectiveSeconds collectives_of(const LayerContext& c, const LayerKind& kind);

collective::Group group(const LayerContext& c, base::Count ranks, base::Count stride);

// Overlaps the communication of one pass with its operators; deferred weight gradients are not among them.
void communicate(const LayerContext& c, double core, double tp, double ep, double cp, Pass& pass);

// DualPipe runs a forward and a backward pass of different microbatches side by side: what either exchanges with
// experts has the operators of both to go beside.
void exchange_beside_both(const LayerContext& c, PassPair& passes);

}  // namespace orrery::cluster
