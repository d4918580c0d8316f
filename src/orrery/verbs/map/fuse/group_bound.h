// What no way to make groups of a chain comes below (block_groups.h).
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/verbs/map/fuse/block_groups.h"

namespace orrery::verbs {

// What is known of operators: the least value of the goal and the least energy of one instance by itself, and of the
// one sweep that an online softmax makes do with (0: there is none).
struct LeastOf {
  double figure = 0, energy = 0, one_sweep = 0;
};

// What moving a matrix once between the exchange level and the outside takes at most, in pJ, leakage included.
double moving_pj(const LayerQuestion& question, double words, bool in);

// Cycles that an operator takes at least: its work, or one sweep of it, and the words that do move outside.
double least_cycles(const LayerQuestion& question, bool takes, bool keeps, bool once);

// In the unit of the goal. `least`: as the chain's links.
double chain_bound(const Chain& chain, const std::vector<LeastOf>& least, const GroupOptions& how);

}  // namespace orrery::verbs
