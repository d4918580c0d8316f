// optimize(problem, options): the best loop tree, with proof.
//
// operator_set.h makes the mappings of each einsum that can be part of an optimum, keyed by what other einsums see of
// them; labels.h joins them along the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/engines/fused/model/fused_problem.h"
#include "orrery/engines/fused/model/loop_tree.h"

namespace orrery::fused {

inline constexpr int kMostFusedLoops = 6;  // that the search gives an einsum

enum class Goal { kEnergy, kDelay, kEdp };

struct SearchOptions {
  Goal goal = Goal::kEdp;
  bool fuse = true;            // false: every tensor is exchanged in the outermost storage
  int fused_loops = 2;         // of an einsum, at most; -1: kMostFusedLoops
  int loops_per_variable = 1;  // of the fused ones, at most; -1: no limit
  bool front = false;          // every best trade of energy against latency, not only the goal's
  base::Limits limits;
};

struct Solution {
  Tree tree;
  double energy = 0;
  double latency = 0;
};

// What the search of one einsum made.
struct OperatorSet {
  double placements = 0;  // priced
  double interfaces = 0;  // keys
  double kept = 0;
  double seconds = 0;
};

struct SearchSize {
  std::vector<OperatorSet> sets;  // by einsum
  double labels = 0;              // at most, alive at once
  double joins = 0;
};

struct Result {
  std::optional<Solution> best;
  std::optional<Solution> apart;  // without fusion, a good one
  std::vector<Solution> front;    // rising in energy; with `front` only
  base::Certificate certificate;
  SearchSize size;
  std::string infeasible;  // why there is no answer
};

// Unless a known one is as good in both; what `one` beats goes.
void add_to_front(std::vector<Solution>& front, Solution one);

Result optimize(const Problem& problem, const SearchOptions& options);

}  // namespace orrery::fused
