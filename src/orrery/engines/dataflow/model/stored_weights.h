// Which weights lie in DRAM once although two kernels read them: those of a forward kernel and of its backward one.
#pragma once

#include <vector>

#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {

// Of every kernel the forward one whose weight it reads, too; -1: its weight is its own, or it has none.
std::vector<int> weight_twins(const workload::KernelGraph& graph);

// What a chip's parts of the two have in common, of parts of `forward_bytes` and `backward_bytes` of a weight of
// `whole_bytes`, under the shardings of the kernels.
double common_weight_bytes(workload::KernelDimension forward, double forward_bytes, workload::KernelDimension backward,
                           double backward_bytes, double whole_bytes);

// Takes off `kernels` what lies in DRAM for their twins already, of each of `layers` layers. `sharding`: as of a
// Mapping; empty: as the graph states it.
void store_weights_once(const workload::KernelGraph& graph, const std::vector<workload::KernelDimension>& sharding,
                        double word_bytes, double layers, std::vector<PartitionKernel>& kernels);

}  // namespace orrery::dataflow
