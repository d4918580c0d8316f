// Kernels whose ranges of configurations do not touch never share one, so they fall into groups whose intervals add up.
// Within a group, sum of max(...) >= max of sums: all of its compute (with free cores: all of its work, cores times
// time at the frugalest choice, on all cores; and no less than its slowest kernel at its fastest), all of its network
// (the longer of both groups'), and of memory what cannot be avoided: its own traffic, and both ends of edges that are
// cut in every assignment.
#include "orrery/engines/dataflow/partition/partition_bound.h"

#include <algorithm>
#include <vector>

namespace orrery::dataflow {
namespace {

struct Group {
  double compute = 0, slowest = 0, memory_bytes = 0, network = 0, beside = 0;
};

double least_interval(const PartitionProblem& problem, const Group& group) {
  const double rate = problem.dram_bandwidth_gb_per_s;
  return interval_ns(problem, std::max(group.compute, group.slowest), rate > 0 ? group.memory_bytes / rate : 0,
                     std::max(group.network, group.beside));
}

// Configurations that some kernel's range joins with the next belong together: the group of each.
std::vector<int> groups_of_configurations(const PartitionProblem& problem, const PartitionSpace& space) {
  std::vector<int> opened(static_cast<std::size_t>(problem.configurations), 0);  // ranges that open minus that close
  for (std::size_t k = 0; k < problem.kernels.size(); ++k) {
    ++opened[static_cast<std::size_t>(space.first[k])];
    --opened[static_cast<std::size_t>(space.last[k])];
  }
  std::vector<int> group(opened.size(), 0);
  int open = 0;
  for (std::size_t c = 0; c + 1 < group.size(); ++c) {
    open += opened[c];
    group[c + 1] = group[c] + (open > 0 ? 0 : 1);
  }
  return group;
}

}  // namespace

double interval_bound(const PartitionProblem& problem, const PartitionSpace& space) {
  if (space.empty || problem.kernels.empty()) return 0;
  const std::vector<int> group_of = groups_of_configurations(problem, space);
  std::vector<Group> groups(static_cast<std::size_t>(group_of.back()) + 1);
  const auto group = [&](int kernel) -> Group& {
    const int first = space.first[static_cast<std::size_t>(kernel)];
    return groups[static_cast<std::size_t>(group_of[static_cast<std::size_t>(first)])];
  };
  for (std::size_t k = 0; k < problem.kernels.size(); ++k) {
    const PartitionKernel& kernel = problem.kernels[k];
    Group& own = group(static_cast<int>(k));
    own.memory_bytes += kernel.memory_bytes;
    own.network += kernel.network_ns;
    own.beside += kernel.beside_ns;
    if (!problem.free_cores) {
      own.compute += kernel.compute_ns;
    } else if (!kernel.choices.empty()) {
      double work = kernel.choices.front().ns * static_cast<double>(kernel.choices.front().cores);
      double fastest = kernel.choices.front().ns;
      for (const CoreChoice& choice : kernel.choices) {
        work = std::min(work, choice.ns * static_cast<double>(choice.cores));
        fastest = std::min(fastest, choice.ns);
      }
      if (problem.cores > 0) own.compute += work / static_cast<double>(problem.cores);
      own.slowest = std::max(own.slowest, fastest);
    }
  }
  for (const PartitionEdge& edge : problem.edges) {
    const PartitionKernel& from = problem.kernels[static_cast<std::size_t>(edge.from)];
    const PartitionKernel& to = problem.kernels[static_cast<std::size_t>(edge.to)];
    group(edge.to).network += edge.network_ns;
    const bool apart = space.last[static_cast<std::size_t>(edge.from)] < space.first[static_cast<std::size_t>(edge.to)];
    if (apart || from.repeat_class != to.repeat_class) {
      group(edge.from).memory_bytes += edge.stream_bytes;
      group(edge.to).memory_bytes += edge.stream_bytes;
    }
  }
  double sum = 0;
  for (const Group& one : groups) sum += least_interval(problem, one);
  // Sums of the same terms in another order may differ in their last digits.
  return sum * (1 - 1e-13);
}

}  // namespace orrery::dataflow
