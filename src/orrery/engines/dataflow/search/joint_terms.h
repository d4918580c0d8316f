// The partition problem of a setup under every sharding at once: what each kernel and edge costs under each of the
// shardings it may have, and bounds over sets of them.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/dataflow/model/mapping.h"
#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {

// Shardings that kernels may have: bit o of entry k is the o-th that JointTerms allows kernel k.
using ShardingSets = std::vector<std::uint8_t>;

class JointTerms {
 public:
  // `mapping` without sharding and configuration; `allowed`: per kernel, at least one.
  JointTerms(const Setup& setup, const Mapping& mapping,
             const std::vector<std::vector<workload::KernelDimension>>& allowed,
             const machine::OperatorModel* operators);

  ShardingSets all() const;

  // Nothing that a sharding out of `sets` makes of the problem costs less or needs less room than this; where every set
  // holds one sharding, it is the problem itself.
  PartitionProblem relaxed(const ShardingSets& sets) const;

  // A sharding out of `sets`, one bit a kernel: of those, one with the least sum of compute and network.
  ShardingSets likely(const ShardingSets& sets) const;

  // The kernel at which fixing a sharding changes the relaxed problem most, seen from `likely`; -1: fixing all of them
  // to `likely` would change nothing.
  int most_relaxed(const ShardingSets& sets, const ShardingSets& likely) const;

  std::vector<workload::KernelDimension> sharding(const ShardingSets& one_each) const;

 private:
  // A kernel under one sharding, with the edges that leave it.
  struct Option {
    PartitionKernel kernel;
    std::vector<double> buffer_bytes, stream_bytes, resident_bytes;  // by leaving edge
    double work_ns = 0;                                              // compute, to compare options
  };
  // A kernel of which only the least of each figure counts.
  Option least(int kernel, std::uint8_t set) const;
  // The least that `kernel` and the edges into it communicate.
  double network_ns(int kernel, const ShardingSets& sets) const;
  double weighed(const Option& option) const;
  // The most of its weight that can lie in DRAM for `kernel`'s twin.
  double shared_bytes(int kernel, const ShardingSets& sets) const;

  const std::vector<std::vector<workload::KernelDimension>>& allowed_;
  PartitionProblem base_;
  std::vector<std::vector<Option>> options_;     // [kernel][sharding]
  std::vector<std::vector<int>> into_, out_of_;  // edges, per kernel
  std::vector<int> twins_;                       // per kernel, see stored_weights.h
  std::vector<std::vector<double>> shared_;      // [kernel with a twin][sharding * shardings of its twin + the twin's]
  std::vector<std::vector<double>> conversion_;  // [edge][from * shardings of its end + to]
};

}  // namespace orrery::dataflow
