// What no way to make groups of a chain comes below (block_groups.h).
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/inputs/blocks/block_groups.h"

namespace orrery::verbs {

// What is known of operators: the least value of the goal of one instance by itself; its least energy by itself and
// with what it takes, what it makes, and both kept in the exchange level, too; the least energy of the one sweep that
// an online softmax makes do with (0: there is none). Side by side energies are without leakage.
struct LeastOf {
  double figure = 0;
  double energy[2][2] = {{0, 0}, {0, 0}};  // [takes][hands on]
  double one_sweep = 0;
};

// Whether writing a matrix into the exchange level once takes more than the operator's products: the least energy with
// it kept there is only searched for then. Elsewhere the least of all mappings serves, which is lower.
bool weighs_inside(const LayerQuestion& question, const char* dataspace);

// What moving a matrix once between the exchange level and the outside takes at most, in pJ, leakage included.
double moving_pj(const LayerQuestion& question, double words, bool in);

// Cycles that an operator takes at least: of its work, or one sweep of it, and for the words that do move outside.
struct LeastCycles {
  double work = 0, outside = 0;
};
LeastCycles least_cycles(const LayerQuestion& question, bool takes, bool keeps, bool once);

// In the unit of the goal. `least`: as the chain's links.
double chain_bound(const Chain& chain, const std::vector<LeastOf>& least, const GroupOptions& how);

}  // namespace orrery::verbs
