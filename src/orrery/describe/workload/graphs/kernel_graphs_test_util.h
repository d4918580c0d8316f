// What the tests of the generators ask of a graph.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

using base::codes_of;

// As published logs count it: 2 outer M K N of products, outer M N of elementwise kernels.
inline double flop(const Kernel& kernel) {
  const double space = static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                       static_cast<double>(kernel.k) * static_cast<double>(kernel.n);
  return kernel.unit == KernelUnit::kSystolic ? 2 * space : space;
}

inline double flop(const KernelGraph& graph) {
  double sum = 0;
  for (const Kernel& kernel : graph.kernels) sum += flop(kernel);
  return sum;
}

inline const Kernel& named(const KernelGraph& graph, const std::string& name) {
  const auto kernel = std::find_if(graph.kernels.begin(), graph.kernels.end(),
                                   [&](const Kernel& candidate) { return candidate.name == name; });
  if (kernel == graph.kernels.end()) throw std::out_of_range("no kernel " + name);
  return *kernel;
}

// "A-B" for every edge, in order.
inline std::vector<std::string> edges_by_name(const KernelGraph& graph) {
  std::vector<std::string> out;
  for (const KernelEdge& edge : graph.edges)
    out.push_back(graph.kernels[edge.from].name + "-" + graph.kernels[edge.to].name);
  return out;
}

inline bool has_edge(const KernelGraph& graph, const std::string& edge) {
  const std::vector<std::string> all = edges_by_name(graph);
  return std::count(all.begin(), all.end(), edge) == 1;
}

inline bool names_are_unique(const KernelGraph& graph) {
  std::set<std::string> names;
  for (const Kernel& kernel : graph.kernels) names.insert(kernel.name);
  return names.size() == graph.kernels.size();
}

using Codes = std::vector<std::string>;

}  // namespace orrery::workload
