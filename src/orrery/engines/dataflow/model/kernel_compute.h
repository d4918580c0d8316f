// How long a chip computes on a kernel's shard: at a given utilisation, or on a number of cores that the partition
// chooses. Asked through machine::OperatorModel and machine::SystolicCores; equal shards are computed once.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/describe/machine/systolic_cores.h"
#include "orrery/engines/dataflow/model/lower.h"

namespace orrery::dataflow {

class KernelCompute {
 public:
  // `operators`: the model used at a given utilisation; nullptr: peak times utilisation.
  KernelCompute(const Setup& setup, Count tiles, const Defects& defects, const machine::OperatorModel* operators);

  // Fills compute_ns, or choices. `alone`: no other kernel can share its configuration; only the fastest choice counts.
  void price(const workload::Kernel& kernel, const Shard& shard, bool alone, PartitionKernel& result);

 private:
  double vector_depth(const Shard& shard) const;  // operations of an element on vector lanes
  std::vector<machine::CoreShare> shares(const workload::Kernel& kernel, const Shard& shard, bool alone) const;

  double tiles_ = 1;
  double frequency_ghz_ = 0;
  bool vector_products_are_shallow_ = false;
  bool repeats_count_ = false;  // of kernels at a given utilisation
  bool every_pair_ = false;
  machine::Precision precision_ = machine::Precision::kBf16;
  machine::FlatEfficiency peak_;  // for kernels that state their share of it
  std::optional<machine::FlatEfficiency> flat_;
  const machine::OperatorModel* operators_ = nullptr;  // with a given utilisation
  machine::SystolicCores cores_;
  using Key = std::tuple<bool, bool, Count, Count, Count, Count, Count>;
  std::map<Key, std::vector<CoreChoice>> known_;
};

}  // namespace orrery::dataflow
