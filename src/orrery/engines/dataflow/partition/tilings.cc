// DFModel's later generations let every configuration choose the number of its tiles. The interval of a set of kernels
// S is then min over tilings T of interval_T(S), which is all that price() needs to know; sums over configurations,
// order ideals and proofs stay as they are. For bounds, and for what no choice can mend, the least figure of every
// kernel and edge stands for all tilings: min_T f_T(S) >= sum of min_T f_T(kernel).
// Source: DFModel (arXiv 2412.16432), commit a33985b. Cost: a pass over each problem.
#include "orrery/engines/dataflow/partition/tilings.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::dataflow {
namespace {

// By rising cores, falling time.
std::vector<CoreChoice> best_choices(std::vector<CoreChoice> all) {
  std::stable_sort(all.begin(), all.end(), [](const CoreChoice& a, const CoreChoice& b) {
    return a.cores != b.cores ? a.cores < b.cores : a.ns < b.ns;
  });
  std::vector<CoreChoice> best;
  for (const CoreChoice& choice : all)
    if (best.empty() || choice.ns < best.back().ns) best.push_back(choice);
  return best;
}

void lower_to(double& value, double other) {
  value = std::min(value, other);
}

}  // namespace

PartitionProblem fastest_of(std::vector<PartitionProblem> problems) {
  ORRERY_CHECK(!problems.empty(), "no tiling to choose from");
  if (problems.size() == 1) return std::move(problems.front());
  PartitionProblem least = problems.front();
  for (const PartitionProblem& other : problems) {
    for (std::size_t k = 0; k < least.kernels.size(); ++k) {
      PartitionKernel& kernel = least.kernels[k];
      const PartitionKernel& one = other.kernels[k];
      lower_to(kernel.compute_ns, one.compute_ns);
      lower_to(kernel.memory_bytes, one.memory_bytes);
      lower_to(kernel.network_ns, one.network_ns);
      lower_to(kernel.beside_ns, one.beside_ns);
      lower_to(kernel.weight_bytes, one.weight_bytes);
      lower_to(kernel.sram_extra_bytes, one.sram_extra_bytes);
      kernel.dram_bytes = std::max(kernel.dram_bytes, one.dram_bytes);
      if (&other != &problems.front())
        kernel.choices.insert(kernel.choices.end(), one.choices.begin(), one.choices.end());
    }
    for (std::size_t e = 0; e < least.edges.size(); ++e) {
      PartitionEdge& edge = least.edges[e];
      const PartitionEdge& one = other.edges[e];
      lower_to(edge.buffer_bytes, one.buffer_bytes);
      lower_to(edge.stream_bytes, one.stream_bytes);
      lower_to(edge.network_ns, one.network_ns);
      edge.resident_bytes = std::max(edge.resident_bytes, one.resident_bytes);
    }
  }
  for (PartitionKernel& kernel : least.kernels) kernel.choices = best_choices(std::move(kernel.choices));
  least.tilings = std::move(problems);
  return least;
}

}  // namespace orrery::dataflow
