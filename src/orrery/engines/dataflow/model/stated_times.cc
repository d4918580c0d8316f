// A kernel that takes t where it would take p at the chip's peak computes at p / t of it, by the shard and tile that it
// was given. A hand that changes degrees or shardings from there keeps the rates, as it keeps `compute_util` of the
// execution. Cost: two lowerings for each tiling.
#include "orrery/engines/dataflow/model/stated_times.h"

#include <cmath>

#include "orrery/describe/machine/flat_efficiency.h"

namespace orrery::dataflow {

void state_times(Setup& setup, const Mapping& mapping, const PartitionCost& partition, const Defects& defects,
                 const machine::OperatorModel& operators) {
  std::vector<Tiling> tilings = mapping.tilings;
  if (tilings.empty()) tilings.push_back({mapping.tiles, mapping.tile_size});
  const machine::FlatEfficiency peak(data_sheet(setup.system), 1);
  Setup at_peak = setup;  // without the rates that kernels have already
  for (workload::Kernel& kernel : at_peak.graph.kernels) kernel.compute_utilization.reset();
  std::vector<std::optional<double>> rates(setup.graph.kernels.size());
  for (std::size_t t = 0; t < tilings.size(); ++t) {
    Mapping one = mapping;
    one.tilings.clear();
    one.tiles = tilings[t].tiles;
    one.tile_size = tilings[t].tile_size;
    const PartitionProblem timed = lower(setup, one, defects, &operators);
    const PartitionProblem fastest = lower(at_peak, one, defects, &peak);
    for (const ConfigurationCost& configuration : partition.configurations) {
      if (configuration.tiling >= 0 && configuration.tiling != static_cast<int>(t)) continue;
      for (const int k : configuration.kernels) {
        const auto at = static_cast<std::size_t>(k);
        const double rate = fastest.kernels[at].compute_ns / timed.kernels[at].compute_ns;
        if (std::isfinite(rate) && rate > 0) rates[at] = rate;
      }
    }
  }
  for (std::size_t k = 0; k < rates.size(); ++k) setup.graph.kernels[k].compute_utilization = rates[k];
}

}  // namespace orrery::dataflow
