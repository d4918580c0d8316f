// Collectives of a tensor- and data-parallel model.
//
// A product sharded along K ends with an all-reduce of its output over the tensor-parallel group: T m n word bytes a
// pass. It costs 2 (TP-1) link latencies a pass as well. A weight update is reduced
// over the replicas once per batch: m n word bytes, divided by the micro-batches over which the batch is spread. What
// the user pins on a kernel takes precedence over this rule; other collectives move the bytes that the user states.
// Source: DFModel (arXiv 2412.16432) and its logs; docs/model/dataflow.md, "Network". Cost: one step per kernel.
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/kernel_network.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;

double communication_bytes(const Kernel& kernel, Communication communication) {
  double bytes = 0;
  if (kernel.communication == communication) bytes += kernel.communication_bytes;
  if (kernel.second_communication == communication) bytes += kernel.second_communication_bytes;
  return bytes;
}

std::vector<GroupTimes> tensor_parallel_network_ns(const Setup& setup, const Mapping& mapping,
                                                   const std::vector<Shard>& shards, const Defects& defects) {
  const Degrees& degrees = mapping.degrees;
  const bool doubled = setup.execution.separate_reduce_scatter_all_gather;
  const GroupCharges tensor = group_charges(setup.system, degrees, Parallelism::kTensor, defects, doubled);
  const Charge periodic =
      group_charges(setup.system, degrees, Parallelism::kData, defects, doubled).of(Communication::kPeriodicAllReduce);
  const double word = static_cast<double>(setup.execution.word_bytes);
  const double tiles = static_cast<double>(mapping.tiles);
  const double batches = periodic.ns_per_byte > 0 ? static_cast<double>(required_micro_batches(setup, degrees)) : 1;
  std::vector<GroupTimes> result(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Kernel& kernel = setup.graph.kernels[i];
    const double tile_bytes = static_cast<double>(shards[i].m) * static_cast<double>(shards[i].n) * word;
    const auto add = [&](Communication communication, double stated_bytes) {
      switch (communication) {
        case Communication::kNone:
          break;
        case Communication::kAllReduce:
          result[i].tensor_ns += tiles * tile_bytes * tensor.all_reduce.ns_per_byte + tensor.all_reduce.start_ns;
          break;
        case Communication::kPeriodicAllReduce: {
          const bool tiled = kernel.tiling != KernelDimension::kK && kernel.tiling != KernelDimension::kNone;
          result[i].data_ns +=
              (tiled ? tiles : 1) * tile_bytes / batches * periodic.ns_per_byte + periodic.start_ns / batches;
          break;
        }
        default:
          result[i].tensor_ns += tensor.of(communication).ns(stated_bytes);
      }
    };
    const bool summed = i < mapping.sharding.size() && mapping.sharding[i] == KernelDimension::kK;
    const bool pinned = kernel.communication != Communication::kNone;
    add(summed && !pinned ? Communication::kAllReduce : kernel.communication, kernel.communication_bytes);
    add(kernel.second_communication, kernel.second_communication_bytes);
  }
  return result;
}

}  // namespace orrery::dataflow
