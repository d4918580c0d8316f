// How long the network is busy with a kernel, per pass of one sequence: its own communication. Conversions of layouts
// on edges are in lower.cc.
#pragma once

#include "orrery/engines/dataflow/model/lower.h"

namespace orrery::dataflow {

// By the group of chips that communicates: tensor-parallel neighbours, and data-parallel replicas once a batch.
struct GroupTimes {
  double tensor_ns = 0, data_ns = 0;
};

// Per kernel, ns. One function for each kind of workload, in a file of its name.
std::vector<GroupTimes> tensor_parallel_network_ns(const Setup& setup, const Mapping& mapping,
                                                   const std::vector<Shard>& shards, const Defects& defects);
std::vector<double> hpl_network_ns(const Setup& setup, const Mapping& mapping, const Defects& defects);
std::vector<double> fft_network_ns(const Setup& setup, const Mapping& mapping, const Defects& defects);
std::vector<double> dlrm_network_ns(const Setup& setup, const Mapping& mapping, const std::vector<Shard>& shards,
                                    const Defects& defects);

// Bytes of a kernel's communication of that kind, of its first or second; 0 where it has none.
double communication_bytes(const workload::Kernel& kernel, workload::Communication communication);

}  // namespace orrery::dataflow
