// The fastest slowest stage over every assignment that never falls along an edge.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::dataflow {

// Per kernel, ns; `beside` runs at the same time as `network`.
struct StageWork {
  std::vector<double> compute, network, beside;
};

// A stage's time from its sums of compute and of the longer of both networks; rises with both.
using StagePrice = std::function<double(double compute_ns, double network_ns)>;

// The stage of each kernel, where the graph has few enough order ideals; nothing where it has more, or where no
// assignment's slowest stage is faster than `beat_ns`.
struct StageSearch {
  bool complete = false;                  // all assignments were considered
  std::optional<std::vector<int>> stage;  // faster than `beat_ns`
};
StageSearch fastest_stages(const workload::KernelGraph& graph, const StageWork& work, int stages,
                           const StagePrice& price, double beat_ns);

}  // namespace orrery::dataflow
