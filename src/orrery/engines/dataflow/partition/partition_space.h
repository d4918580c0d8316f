// The possible assignments before capacity: ranges made consistent along the edges, and a topological order.
//
// A kernel cannot run before its producers' earliest configuration nor after its consumers' latest, so ranges shrink
// along edges (one pass each way). What is empty then has no assignment at all, and what is single is decided.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {

struct PartitionSpace {
  std::vector<int> first, last;  // per kernel, inclusive
  std::vector<int> order;        // topological, lowest index first
  bool empty = false;            // some range is
  bool decided = false;          // every range is single

  static constexpr double kMostCounted = 1e300;

  double assignments() const;  // product of the ranges, an upper bound of what there is; held at kMostCounted
};

// The graph must be acyclic, and edges must name kernels.
PartitionSpace partition_space(const PartitionProblem& problem);

// Least sums that any schedule of some kernels must pay for, whatever it is; the searches take their bounds from it.
// Terms of different resources combine as the problem overlaps them: the sum of maxima is at least the maximum of sums.
struct PartitionWork {
  std::vector<double>
      compute_ns;  // per kernel: with free cores, least cores * ns over all choices, by the chip's cores
  std::vector<double> network_ns;  // with conversions of the edges into it
  std::vector<double> beside_ns;
};
PartitionWork partition_work(const PartitionProblem& problem);

}  // namespace orrery::dataflow
