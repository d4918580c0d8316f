// optimize(setup): the fastest degrees, sharding, tile and partition, with proof. degrees.h and sharding.h choose over
// chips, pipeline_stages.h cuts layers into stages, partition/ fuses kernels on a chip; joint.h chooses sharding and
// partition together. contradictions.h and infeasibility.h say why there is no answer.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/search/degrees.h"
#include "orrery/engines/dataflow/search/reason.h"
#include "orrery/engines/dataflow/search/sharding.h"

namespace orrery::dataflow {

// `seconds` 0: the setup's hint, else none.
struct PlaceLimits : base::Limits {
  double gap = 0;                     // accept an answer that is proven within this share of the optimum
  std::size_t most_ideals = 100'000;  // of a partition; beyond it a mixed-integer programme takes over
  // A placement is known that takes less than this, such as a neighbour's: none above it need be found, and of equal
  // ones any will do; 0: none is known. Nothing is found where that is wrong.
  double known_ns = 0;
  std::function<void(double best_ns, double bound_ns)> progress;
};

// Seconds past a time limit in which a search may still find a first placement, or bound every candidate.
inline constexpr double kGrace = 0.4;

// Of a joint search: what it makes of sharding first, then fusing.
struct TwoPasses {
  double final_ns = 0;  // 0: they find nothing
  double bound_ns = 0;  // nothing under their sharding ends sooner
  bool optimal = false;

  // By what share of the joint answer the two passes take longer.
  double loss(double joint_ns) const { return final_ns > joint_ns && joint_ns > 0 ? final_ns / joint_ns - 1 : 0; }
};

struct Placement {
  std::optional<Mapping> mapping;  // nothing: none found
  Evaluation evaluation;           // of `mapping` in placed(setup, placement)
  ShardingOptimum sharding;
  std::vector<std::optional<Parallelism>> serves;  // what each dimension of the network serves
  // Where a graph of several layers is spread over pipeline stages: the stage of each of its kernels, and the kernels
  // of the slowest stage, which `mapping` is about. Else empty: it is about all kernels.
  std::vector<int> stage;
  std::vector<int> kernels;

  std::optional<TwoPasses> two_passes;  // of optimize_jointly()

  // Of final_ns, over degrees, tiles and partitions under the sharding rule; of optimize_jointly(), over shardings too.
  base::Certificate certificate;
  std::string method;
  bool infeasible = false;
  bool interrupted = false;               // ended before it had a proof
  bool out_of_memory = false;             // because memory ran out
  std::vector<base::Diagnostic> reasons;  // when infeasible: the smallest set of limits that contradict each other
  std::vector<std::vector<BlamedPart>> blamed;  // of each reason, the parts of the question
};

// Least final_ns. Ties (relative 1e-12) go to the first in the order of allocations(), then of tilings(), then of
// optimize(PartitionProblem); a candidate whose partition is too hard for the first round loses every tie. Throws
// Contradictions, an InputError, with all that contradictions() finds.
Placement optimize(const Setup& setup, const Defects& defects, const PlaceLimits& limits = {},
                   const machine::OperatorModel* operators = nullptr);

// The setup that `placement.mapping` belongs to: with the services of the network that the search chose, and, for a
// graph over several stages, reduced to the slowest stage. `evaluate` of the two is `placement.evaluation`, except that
// the FLOP of such a graph are those of all stages.
Setup placed(const Setup& setup, const Placement& placement);

}  // namespace orrery::dataflow
