// From a setup under degrees, sharding and tile to the partition problem, and back to times of the whole run.
#pragma once

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/dataflow/model/mapping.h"
#include "orrery/engines/dataflow/model/network_time.h"
#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {

// A kernel's part of one chip and one tile. m holds outer * M.
struct Shard {
  Count m = 0, k = 1, n = 0;
};
// Shards and buffer depths that the user states are kept. DFModel recomputes both unless its inter-chip pass is
// skipped.
bool stated_parts_hold(const Setup& setup, const Defects& defects);
std::vector<Shard> shards(const Setup& setup, const Mapping& mapping, const Defects& defects);

// What `edge` communicates in a tensor-parallel group when its ends are sharded so, ns: what the user pins, else the
// conversion of layouts.
double conversion_ns(const workload::KernelGraph& graph, const workload::KernelEdge& edge,
                     workload::KernelDimension from, workload::KernelDimension to, const GroupCharges& charges);

// Whether every kernel has a configuration of its own.
bool one_kernel_each(const Setup& setup);

// Where they share them: how many there are, and the first and last that each kernel may have, by its pin and
// direction.
struct ConfigurationRanges {
  int count = 1;
  std::vector<int> first, last;
};
ConfigurationRanges configuration_ranges(const Setup& setup);

// A chip as an operator model sees it: its peak, whatever the precision, and its DRAM's bandwidth.
machine::Accelerator data_sheet(const System& system);

// `operators` answers for kernels at a given utilisation; with free cores, choices come from
// machine::SystolicCores (an operator model too). `mapping.configuration` is not read.
PartitionProblem lower(const Setup& setup, const Mapping& mapping, const Defects& defects,
                       const machine::OperatorModel* operators = nullptr);

}  // namespace orrery::dataflow
