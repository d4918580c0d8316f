#include "orrery/inputs/layers/timeloop_files.h"

#include <fmt/format.h>

#include "orrery/formats/timeloop/components/energy_table_text.h"
#include "orrery/formats/timeloop/constraints/mapping_document.h"
#include "orrery/formats/timeloop/documents/map_text.h"
#include "orrery/formats/timeloop/documents/stats_text.h"

namespace orrery::verbs {

namespace timeloop = formats::timeloop;

namespace {

// Sizes that the mapping needs beside the layer's own, so that it may be read again.
std::string padded_text(const MappedLayer& layer) {
  std::string sizes;
  if (layer.padding)
    for (const nest::Rounding& one : layer.padding->rounded)
      sizes += fmt::format("{}{}: {}", sizes.empty() ? "" : ", ", layer.einsum.dimensions[one.dimension].name, one.to);
  return sizes.empty() ? "" : fmt::format("padded: {{{}}}\n", sizes);
}

}  // namespace

std::vector<OutputFile> timeloop_files(const MappedLayer& layer, bool compat) {
  if (!layer.found()) return {};
  const nest::Mapping& mapping = *layer.optimum.mapping;
  const nest::Evaluation& cost = layer.optimum.evaluation;
  return {{"map.yaml", padded_text(layer) + timeloop::write_mapping_yaml(layer.einsum, layer.chip, mapping)},
          {"map.txt", timeloop::map_text(layer.einsum, layer.chip, mapping, cost)},
          {"stats.txt", timeloop::stats_text(layer.einsum, layer.chip, cost, compat, layer.sparse.get())}};
}

std::vector<OutputFile> energy_files(const std::vector<energy::EstimatedComponent>& components) {
  return {{"ERT.yaml", timeloop::energy_table_text(components)},
          {"ART.yaml", timeloop::area_table_text(components)},
          {"ERT_summary.yaml", timeloop::energy_summary_text(components)},
          {"ART_summary.yaml", timeloop::area_summary_text(components)}};
}

}  // namespace orrery::verbs
