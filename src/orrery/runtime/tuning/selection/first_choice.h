// A choice that a factor graph allows, soon: for searches that a limit ends before they found one.
//
// Idea. One variable after the other gets a value, and after each the rows that can no longer be used go, and with them
// the values that no row has (generalised arc consistency). The next variable is the one whose second best value would
// cost the most more, its value the one that costs least; both are judged by the sum over factors of the cheapest row
// left. Where no row is left, the last value is taken back. Rows lie in sets that shrink by exchange, so that taking
// back is setting a count.
//
// Work is counted in rows looked at and bounded by the size of the graph, so the result is the same on every machine.
// When the work for one way of choosing is used up, the variable with the fewest values left is tried instead.
//
// Source: R. Haralick, G. Elliott, "Increasing tree search efficiency for constraint satisfaction problems", Artificial
// Intelligence 14 (1980); sparse sets: P. Briggs, L. Torczon, ACM LOPLAS 2 (1993). Cost: the rows, times a few dozens.
#pragma once

#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {

struct FirstChoice {
  bool found = false;
  bool infeasible = false;  // proven: there is none
  std::vector<int> values;  // of each variable, where found
  base::Count bound = 0;    // no choice costs less
};

FirstChoice first_choice(const FactorGraph& graph);

}  // namespace orrery::tuning
