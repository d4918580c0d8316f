// `dataflow_graph` into workload::KernelGraph.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/formats/dfmodel/block.h"

namespace orrery::formats::dfmodel {

struct ReadGraph {
  workload::KernelGraph graph;  // kernels in the order of their ids
  // For each of the graph, its position among the file's.
  std::vector<int> kernel_positions, edge_positions;
  std::vector<int> staged;  // kernels with `use_effective_stage`; how many stages the execution says
};

// Errors: O1404, O1405 (fields), O1408 (bodies), O1409 (ids), O1410 (connections to nobody), O1411 (self-loops), O1412
// (cycles), O1416 (pins), O1417 (products beyond 64 bits), O1419 (what an elementwise kernel cannot do); warnings:
// O1420.
ReadGraph read_graph(const Block& graph, base::Count word_bytes, base::Diagnostics& found);

}  // namespace orrery::formats::dfmodel
