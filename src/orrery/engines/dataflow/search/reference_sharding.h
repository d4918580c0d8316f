// The sharding that DFModel's published runs used for graphs of its generators' shapes.
//
// Upstream's solver found one of many shardings with equally few communicated bytes, and the times that follow depend
// on which. The table of the published runs therefore stands in for the solver with `published_shardings`.
#pragma once

#include <optional>
#include <vector>

#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::dataflow {

// Per kernel; nothing unless the graph is one layer of a transformer as the generators make it (18 kernels forward,
// 41 forward and backward, 20 of a decoding step): recognised by the kernels' shapes, operands and edges.
std::optional<std::vector<workload::KernelDimension>> reference_sharding(const workload::KernelGraph& graph);

}  // namespace orrery::dataflow
