// DLRM: every chip is a replica of the MLPs and holds 1/N of the embedding tables.
//
// Looked-up rows are exchanged among all chips: a chip's `bytes` go to N chips, so a pair exchanges bytes / N. Weight
// updates are reduced over all chips once per batch: m n word bytes divided by the micro-batches of a chip. DFModel
// takes those bytes for ns, as if the bandwidth were 1 GB/s; corrected, the all-reduce runs over the network's
// dimensions. Source: DFModel (arXiv 2412.16432) and its logs. Cost: one step per kernel.
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/kernel_network.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

std::vector<double> dlrm_network_ns(const Setup& setup, const Mapping& mapping, const std::vector<Shard>& shards,
                                    const Defects& defects) {
  const double chips = static_cast<double>(setup.system.chips);
  const Charge reduce = defects.update_bytes_as_ns
                            ? Charge{0, 1}
                            : machine_all_reduce(setup.system, mapping.degrees, defects,
                                                 setup.execution.separate_reduce_scatter_all_gather);
  const double batches = static_cast<double>(required_micro_batches(setup, mapping.degrees));
  std::vector<double> result;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    const double bytes = communication_bytes(kernel, workload::Communication::kAllToAll);
    double ns = bytes > 0 ? exchange_ns(setup.system, mapping.degrees, bytes / chips, defects) : 0;
    if (kernel.communication == workload::Communication::kPeriodicAllReduce ||
        kernel.second_communication == workload::Communication::kPeriodicAllReduce)
      ns += static_cast<double>(shards[i].m) * static_cast<double>(shards[i].n) *
                static_cast<double>(setup.execution.word_bytes) / batches * reduce.ns_per_byte +
            reduce.start_ns / batches;
    result.push_back(ns);
  }
  return result;
}

}  // namespace orrery::dataflow
