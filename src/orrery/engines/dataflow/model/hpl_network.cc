// HPL on X x Y chips: every step factors a panel of columns and updates the rest. The panel goes along the rows
// (broadcast), rows are swapped along the columns (point to point); both at once, each chip its share:
//
//   network = max(point-to-point bytes / (Y b_x), broadcast bytes / (X b_y))
//
// with b what a message between neighbours gets, and the latency of a step for each. Corrected, a direction with one
// chip sends nothing; dimensions beyond the second belong to the columns, at their slowest link. Source: DFModel (arXiv
// 2412.16432) and its logs. Cost: one step per kernel.
#include <algorithm>

#include "orrery/engines/dataflow/model/kernel_network.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

std::vector<double> hpl_network_ns(const Setup& setup, const Mapping& mapping, const Defects& defects) {
  const std::vector<Count> sizes = network_sizes(setup.system, mapping.degrees);
  std::vector<double> result(setup.graph.kernels.size(), 0.0);
  if (sizes.empty()) return result;
  const double rows = static_cast<double>(sizes[0]);
  double columns = 1;
  Charge across;  // along the columns
  for (std::size_t j = 1; j < sizes.size(); ++j) {
    columns *= static_cast<double>(sizes[j]);
    const Charge link = message_charge(setup.system, mapping.degrees, j, defects);
    if (link.ns_per_byte > across.ns_per_byte) across = link;
  }
  const Charge down_link = message_charge(setup.system, mapping.degrees, 0, defects);
  const bool lonely_rows = rows <= 1 && !defects.lonely_chips_send;
  const bool lonely_columns = columns <= 1 && (!defects.lonely_chips_send || sizes.size() < 2);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    const double swap = communication_bytes(kernel, workload::Communication::kPointToPoint);
    const double panel = communication_bytes(kernel, workload::Communication::kBroadcast);
    const double down = lonely_rows || swap <= 0 ? 0 : down_link.ns(swap / columns);
    const double along = lonely_columns || panel <= 0 ? 0 : across.ns(panel / rows);
    result[i] = std::max(down, along);
  }
  return result;
}

}  // namespace orrery::dataflow
