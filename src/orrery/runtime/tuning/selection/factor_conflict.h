// Why a factor graph allows nothing: a smallest set of factors that cannot agree.
//
// Idea. First a set from which none can be left out (base/limits/conflict.h); then every connected set of fewer
// factors, the small ones first: factors that share no variable, even by way of others, disagree only if a part of them
// does. A set is judged by `minimize` with rows that are free.
//
// Cost: one question a factor, then one a connected subset until one of them cannot agree.
#pragma once

#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {

struct Conflict {
  std::vector<int> factors;  // in order; empty where the budget ended before one was found
  bool smallest = false;     // else: none can be left out, but there may be smaller sets; or the budget ended
};

// Of a graph that is known to be infeasible. Sets of up to `kMostSubsets` are asked about.
inline constexpr int kMostSubsets = 20'000;
Conflict smallest_conflict(const FactorGraph& graph, const base::Budget& budget);

}  // namespace orrery::tuning
