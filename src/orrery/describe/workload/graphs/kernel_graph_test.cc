#include "orrery/describe/workload/graphs/kernel_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::workload {
namespace {

KernelGraph graph_of(int kernels, std::vector<std::pair<int, int>> edges) {
  KernelGraph graph;
  graph.kernels.resize(kernels);
  for (auto [from, to] : edges) graph.edges.push_back({.from = from, .to = to});
  return graph;
}

TEST(KernelGraph, LevelIsTheLongestPathFromASource) {
  EXPECT_EQ(levels(graph_of(5, {{0, 1}, {1, 2}, {0, 2}, {2, 4}})), (std::vector<int>{0, 1, 2, 0, 3}));
}

TEST(KernelGraph, TopologicalOrderPutsEveryEdgeForward) {
  const KernelGraph graph = graph_of(5, {{4, 1}, {1, 0}, {3, 0}, {0, 2}});
  const std::vector<int> order = topological_order(graph);
  ASSERT_EQ(order.size(), 5u);
  for (const KernelEdge& edge : graph.edges)
    EXPECT_LT(std::find(order.begin(), order.end(), edge.from), std::find(order.begin(), order.end(), edge.to));
}

TEST(KernelGraph, ACycleIsNamedFromItsFirstKernelAndWhatOnlyHangsOnItIsLeftOut) {
  EXPECT_TRUE(find_cycle(graph_of(3, {{0, 1}, {1, 2}})).empty());
  EXPECT_EQ(find_cycle(graph_of(6, {{0, 1}, {1, 3}, {3, 2}, {2, 1}, {3, 4}, {4, 5}})), (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(find_cycle(graph_of(2, {{1, 1}})), (std::vector<int>{1}));
}

}  // namespace
}  // namespace orrery::workload
