// What no way to make groups of a chain comes below (block_groups.h).
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/inputs/blocks/block_groups.h"

namespace orrery::verbs {

// What is known of operators: the least value of the goal of one instance by itself; and at least what its energy is
// where it takes, and hands on, a matrix inside, less what moving those to and from the outside takes: the least over
// the storages in which it may. Of the one sweep that an online softmax makes do with, likewise (0: there is none).
// Side by side energies are without leakage.
struct LeastOf {
  double figure = 0;
  double energy[2][2] = {{0, 0}, {0, 0}};  // [takes][hands on]
  double one_sweep = 0;
};

// Whether writing a matrix into a storage once takes more than the operator's products: the least energy with it kept
// there is only searched for then. Elsewhere the least of all mappings serves, which is lower.
bool weighs_inside(const LayerQuestion& question, std::size_t level, const char* dataspace);

// What moving a matrix once between a storage and the outside takes at most, in pJ, leakage included.
double moving_pj(const LayerQuestion& question, std::size_t level, int dataspace);

// Cycles that an operator takes at least: of its work, or one sweep of it; for the words that do move outside; and for
// weights that stay inside.
struct LeastCycles {
  double work = 0, outside = 0, inside = 0;
};
LeastCycles least_cycles(const ChainLink& link, bool takes, bool keeps, bool once);

// In the unit of the goal. `least`: as the chain's links.
double chain_bound(const Chain& chain, const std::vector<LeastOf>& least, const GroupOptions& how);

}  // namespace orrery::verbs
