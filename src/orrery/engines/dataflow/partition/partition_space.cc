#include "orrery/engines/dataflow/partition/partition_space.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

namespace orrery::dataflow {

double PartitionSpace::assignments() const {
  double result = 1;
  for (std::size_t k = 0; k < first.size(); ++k) result *= std::max(0, last[k] - first[k] + 1);
  return std::min(result, kMostCounted);
}

PartitionSpace partition_space(const PartitionProblem& problem) {
  const std::size_t kernels = problem.kernels.size();
  PartitionSpace space;
  std::vector<std::vector<int>> successors(kernels);
  std::vector<int> missing(kernels, 0);
  for (const PartitionEdge& edge : problem.edges) {
    ORRERY_CHECK(edge.from >= 0 && edge.to >= 0 && static_cast<std::size_t>(edge.from) < kernels &&
                     static_cast<std::size_t>(edge.to) < kernels,
                 "an edge of the partition problem names no kernel");
    successors[static_cast<std::size_t>(edge.from)].push_back(edge.to);
    ++missing[static_cast<std::size_t>(edge.to)];
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t k = 0; k < kernels; ++k) {
    space.first.push_back(std::max(problem.kernels[k].first, 0));
    space.last.push_back(std::min(problem.kernels[k].last, problem.configurations - 1));
    if (missing[k] == 0) ready.push(static_cast<int>(k));
  }
  while (!ready.empty()) {
    const int k = ready.top();
    ready.pop();
    space.order.push_back(k);
    for (const int next : successors[static_cast<std::size_t>(k)]) {
      int& first = space.first[static_cast<std::size_t>(next)];
      first = std::max(first, space.first[static_cast<std::size_t>(k)]);
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push(next);
    }
  }
  ORRERY_CHECK(space.order.size() == kernels, "the graph of the partition problem has a cycle");
  space.decided = true;
  for (std::size_t i = kernels; i-- > 0;) {
    const auto k = static_cast<std::size_t>(space.order[i]);
    for (const int next : successors[k])
      space.last[k] = std::min(space.last[k], space.last[static_cast<std::size_t>(next)]);
    space.empty = space.empty || space.first[k] > space.last[k];
    space.decided = space.decided && space.first[k] == space.last[k];
  }
  return space;
}

PartitionWork partition_work(const PartitionProblem& problem) {
  PartitionWork work;
  for (const PartitionKernel& kernel : problem.kernels) {
    double compute = kernel.compute_ns;
    if (problem.free_cores) {
      compute = kNever;
      for (const CoreChoice& choice : kernel.choices) {
        if (choice.cores > problem.cores) continue;
        compute = std::min(compute, static_cast<double>(choice.cores) * choice.ns / static_cast<double>(problem.cores));
      }
    }
    // Kernels that do not fit at all are rejected by price().
    work.compute_ns.push_back(std::isfinite(compute) ? compute : 0);
    work.network_ns.push_back(kernel.network_ns);
    work.beside_ns.push_back(kernel.beside_ns);
  }
  for (const PartitionEdge& edge : problem.edges) work.network_ns[static_cast<std::size_t>(edge.to)] += edge.network_ns;
  return work;
}

}  // namespace orrery::dataflow
