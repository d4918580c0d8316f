// Joins mappings of einsums into loop trees: labels over the graph.
#pragma once

#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/fused/search/operator_set.h"

namespace orrery::fused {

// What is joined: for each einsum its interfaces, and its tensors' lives.
struct Joined {
  double energy = 0;
  double delay = 0;
  struct Pick {
    const Interface* face = nullptr;
    const Mapping* mapping = nullptr;
    int shared = 0;  // open loops before it
  };
  std::vector<Pick> picks;  // by einsum
};

struct JoinOptions {
  Goal goal = Goal::kEdp;
  bool front = false;
  std::size_t beam = 0;           // labels kept for a key; 0: all
  double incumbent = kUnlimited;  // of the goal: nothing above it is wanted
};

struct JoinResult {
  std::vector<Joined> answers;  // the best one, or the front
  double labels = 0;            // at most alive at once
  double joins = 0;
  double over_capacity = 0, dominated = 0, bounded = 0;
  bool complete = true;  // the budget sufficed
};

double goal_value(Goal goal, double energy, double delay);

JoinResult join(const Problem& problem, const std::vector<const OperatorMappings*>& sets, const JoinOptions& options,
                const base::Budget& budget);

}  // namespace orrery::fused
