// A distributed FFT transposes once: every chip sends 1/N of its share to each of the N chips, so a pair exchanges
// bytes / N^2 of the whole. Source: DFModel (arXiv 2412.16432) and its logs. Cost: one step per kernel.
#include "orrery/engines/dataflow/model/kernel_network.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

std::vector<double> fft_network_ns(const Setup& setup, const Mapping& mapping, const Defects& defects) {
  const double chips = static_cast<double>(setup.system.chips);
  std::vector<double> result;
  for (const workload::Kernel& kernel : setup.graph.kernels) {
    const double bytes = communication_bytes(kernel, workload::Communication::kAllToAll);
    result.push_back(bytes > 0 ? exchange_ns(setup.system, mapping.degrees, bytes / (chips * chips), defects) : 0);
  }
  return result;
}

}  // namespace orrery::dataflow
