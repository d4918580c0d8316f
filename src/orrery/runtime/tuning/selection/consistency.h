// Rows that no choice can use are dropped, variables that say the same become one: what remains has the same optimum.
#pragma once

#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {

// `kStopped`: the budget ended before; the graph is then of no use.
enum class Consistency { kConsistent, kEmpty, kStopped };

// Drops rows that agree with no row of some other factor on all the variables that the two share, until every row of a
// factor has a partner in each neighbour (pairwise consistency). kEmpty: a factor lost all its rows.
// Source: A. Mackworth, "Consistency in networks of relations", Artificial Intelligence 8 (1977), for tables.
// Cost: rows times neighbours, each time that a table shrinks.
Consistency make_consistent(FactorGraph& graph, const base::Budget& budget);

// The values of a variable that every factor having it still has, in order.
std::vector<std::vector<int>> usable_values(const FactorGraph& graph);

// What `reduce` made of a variable: value v of `variable` in the reduced graph means `values[v]`; a variable with one
// value is -1.
struct Reduced {
  int variable = -1;
  std::vector<int> values;
};

// The graph with variables of one value left out, those that some factor ties one to one merged, values numbered
// without gaps, and consistent.
Consistency reduce(FactorGraph& graph, std::vector<Reduced>& meaning, const base::Budget& budget);

}  // namespace orrery::tuning
