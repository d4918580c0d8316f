#include "orrery/verbs/place/place_files.h"

#include <variant>

#include "orrery/formats/dfmodel/run_log.h"
#include "orrery/formats/dfmodel/setup_text.h"

namespace orrery::verbs {

std::string pinned_setup(const PlacedGraph& placed) {
  dataflow::Setup setup = placed.setup;
  const dataflow::Mapping& mapping = *placed.placement.mapping;
  for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k) {
    setup.graph.kernels[k].configuration = mapping.configuration[k];
    if (mapping.degrees.tensor > 1) setup.graph.kernels[k].sharding = mapping.sharding[k];
  }
  for (std::size_t d = 0; d < setup.system.network.size() && d < mapping.degrees.sizes.size(); ++d)
    setup.system.network[d].size = mapping.degrees.sizes[d];
  if (auto* model = std::get_if<dataflow::LanguageModelRun>(&setup.execution.workload))
    model->tile_size =
        placed.defects.tile_size_counts_tiles || model->tile_size_counts_tiles ? mapping.tiles : mapping.tile_size;
  return formats::dfmodel::write_setup(setup);
}

std::string place_log(const PlacedGraph& placed) {
  return formats::dfmodel::run_log(placed.setup, placed.placement, placed.defects);
}

}  // namespace orrery::verbs
