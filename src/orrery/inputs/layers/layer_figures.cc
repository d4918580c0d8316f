#include "orrery/inputs/layers/layer_figures.h"

#include <algorithm>

namespace orrery::verbs {

int binding_level(const nest::Evaluation& evaluation) {
  int binding = -1;
  for (std::size_t i = 0; i < evaluation.storages.size(); ++i) {
    if (evaluation.storages[i].throttle >= 1) continue;
    if (binding < 0 || evaluation.storages[i].cycles > evaluation.storages[binding].cycles)
      binding = static_cast<int>(i);
  }
  return binding;
}

LayerFigures figures_of(const MappedLayer& layer) {
  const nest::Evaluation& cost = layer.optimum.evaluation;
  const machine::Storage& outermost = layer.chip.storages.back();
  const nest::StorageCost& port = cost.storages.back();
  const auto cycles = static_cast<double>(cost.cycles);
  LayerFigures out;
  out.seconds = cycles * layer.chip.cycle_seconds;
  if (out.seconds > 0) out.power_w = cost.energy_pj * 1e-12 / out.seconds;
  double bits = 0;
  for (std::size_t s = 0; s < port.dataspaces.size(); ++s) {
    const nest::DataspaceCost& one = port.dataspaces[s];
    const base::Count own = layer.einsum.dataspaces[s].bits;
    bits += (static_cast<double>(one.reads) + static_cast<double>(one.fills) + static_cast<double>(one.updates)) *
            static_cast<double>(own > 0 ? own : outermost.word_bits);
  }
  const double bytes = bits * static_cast<double>(port.utilized_instances) / 8;
  if (bytes > 0) out.operations_per_byte = static_cast<double>(cost.compute.operations) / bytes;
  const double moving = port.throttle < 1 ? static_cast<double>(port.cycles) / cycles : 0;
  out.roofline_share = std::min(1.0, std::max(cost.utilization, moving));
  const int binding = binding_level(cost);
  out.bound_by = binding < 0 ? layer.chip.compute.name : layer.chip.storages[static_cast<std::size_t>(binding)].name;
  return out;
}

}  // namespace orrery::verbs
