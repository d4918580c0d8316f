#include "orrery/describe/workload/graphs/kernel_graph.h"

#include <algorithm>

namespace orrery::workload {

namespace {

std::vector<std::vector<int>> successors_of(const KernelGraph& graph) {
  std::vector<std::vector<int>> successors(graph.kernels.size());
  for (const KernelEdge& edge : graph.edges) successors[edge.from].push_back(edge.to);
  return successors;
}

}  // namespace

bool KernelGraph::has_backward() const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const Kernel& kernel) { return kernel.direction == Direction::kBackward; });
}

std::vector<int> topological_order(const KernelGraph& graph) {
  const auto successors = successors_of(graph);
  std::vector<int> waiting(graph.kernels.size(), 0);
  for (const KernelEdge& edge : graph.edges) ++waiting[edge.to];
  std::vector<int> order;
  for (std::size_t k = 0; k < waiting.size(); ++k)
    if (waiting[k] == 0) order.push_back(static_cast<int>(k));
  for (std::size_t next = 0; next < order.size(); ++next)
    for (int to : successors[order[next]])
      if (--waiting[to] == 0) order.push_back(to);
  return order;
}

std::vector<int> levels(const KernelGraph& graph) {
  const auto successors = successors_of(graph);
  std::vector<int> level(graph.kernels.size(), 0);
  for (int kernel : topological_order(graph))
    for (int to : successors[kernel]) level[to] = std::max(level[to], level[kernel] + 1);
  return level;
}

std::vector<int> find_cycle(const KernelGraph& graph) {
  const std::vector<int> order = topological_order(graph);
  if (order.size() == graph.kernels.size()) return {};
  std::vector<char> sorted(graph.kernels.size(), 0);
  for (int kernel : order) sorted[kernel] = 1;
  // Every kernel that could not be sorted has a predecessor that could not: walking back must meet itself.
  std::vector<int> predecessor(graph.kernels.size(), -1);
  for (const KernelEdge& edge : graph.edges)
    if (!sorted[edge.from] && !sorted[edge.to] && predecessor[edge.to] < 0) predecessor[edge.to] = edge.from;
  int at = 0;
  while (sorted[at]) ++at;
  std::vector<int> walk;
  std::vector<int> seen_at(graph.kernels.size(), -1);
  while (seen_at[at] < 0) {
    seen_at[at] = static_cast<int>(walk.size());
    walk.push_back(at);
    at = predecessor[at];
  }
  std::vector<int> cycle(walk.begin() + seen_at[at], walk.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace orrery::workload
