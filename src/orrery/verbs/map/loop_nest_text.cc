#include "orrery/verbs/map/loop_nest_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/present/bar.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

struct EnergyRow {
  std::string name;
  double energy_pj = 0;
};

std::vector<EnergyRow> energy_rows(const MappedLayer& layer) {
  const nest::Evaluation& cost = layer.optimum.evaluation;
  std::vector<EnergyRow> rows;
  for (std::size_t i = layer.chip.storages.size(); i-- > 0;) {
    const machine::Storage& storage = layer.chip.storages[i];
    if (storage.pass_through && cost.storages[i].energy_pj == 0) continue;
    rows.push_back({storage.name, cost.storages[i].energy_pj});
  }
  rows.push_back({layer.chip.compute.name, cost.compute.energy_pj});
  for (std::size_t i = 0; i < cost.networks.size(); ++i)
    rows.push_back({layer.chip.networks[i].name, cost.networks[i].energy_pj});
  return rows;
}

// What the seed's names of dimensions mean, where the layer has them.
std::string dimensions_line(const workload::Einsum& einsum) {
  const int e = einsum.dimension_index("E"), d = einsum.dimension_index("D"), l = einsum.dimension_index("L");
  const int weights = einsum.dataspace_index("Weights");
  if (einsum.dimensions.size() != 3 || e < 0 || d < 0 || l < 0 || weights < 0) return "";
  if (!einsum.relevant(weights, d) || einsum.relevant(weights, l)) return "";
  return einsum.relevant(weights, e) ? "\nE: summed over; D: rows of the result; L: its columns"
                                     : "\nE: elements of a column; L: columns; D: sweeps over each";
}

}  // namespace

std::string shown_watts(double watts) {
  return fmt::format("{:.4g} W", watts);
}

std::string mapping_line(const MappedLayer& layer, const nest::Mapping& mapping, bool as_timeloop) {
  return as_timeloop ? one_line(layer.einsum, mapping) : one_line(layer.einsum, mapping, layer.chip);
}

std::string layer_view(const MappedLayer& layer) {
  const nest::Evaluation& cost = layer.optimum.evaluation;
  std::string shape;
  for (const workload::Dimension& dimension : layer.einsum.dimensions)
    if (dimension.bound > 1) shape += fmt::format(" {}={}", dimension.name, dimension.bound);
  std::string out = fmt::format("{}:{}", layer.name, shape.empty() ? " one operation" : shape);
  if (layer.instances > 1) out += fmt::format(", {} instances", layer.instances);
  out += dimensions_line(layer.einsum);
  out += "\n\n" + map_text(layer.einsum, layer.chip, *layer.optimum.mapping, cost) + "\n";

  constexpr int kCells = 32;
  const auto operations = static_cast<double>(cost.compute.operations);
  std::size_t width = 5;
  const std::vector<EnergyRow> rows = energy_rows(layer);
  for (const EnergyRow& row : rows) width = std::max(width, row.name.size());
  out += fmt::format("{:<{}}  {:>12}  {:>6}\n", "energy", width, "pJ/operation", "%");
  for (const EnergyRow& row : rows) {
    const double share = cost.energy_pj > 0 ? row.energy_pj / cost.energy_pj : 0;
    std::string line = fmt::format("{:<{}}  {:>12.4f}  {:>6}  {}", row.name, width, row.energy_pj / operations,
                                   percent(share), bar(share, kCells));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += fmt::format("{:<{}}  {:>12.4f}  {:>6}\n\n", "total", width, cost.energy_pj / operations, percent(1));

  const int binding = binding_level(cost);
  const LayerFigures figures = figures_of(layer);
  out += fmt::format("cycles       {}\n", cost.cycles);
  out += fmt::format("time         {} at {:g} ns a cycle, {}\n", shown_seconds(figures.seconds),
                     1e9 * layer.chip.cycle_seconds, shown_watts(figures.power_w));
  if (binding >= 0) {
    out += fmt::format("bound by     bandwidth of {}: it needs {} cycles, the compute units {}\n",
                       layer.chip.storages[binding].name, cost.storages[binding].cycles, cost.compute.cycles);
  } else {
    out += "bound by     compute: no storage's bandwidth adds cycles\n";
  }
  if (figures.operations_per_byte)
    out += fmt::format("intensity    {:.4g} operations a byte of {}; {} % of the roofline there\n",
                       *figures.operations_per_byte, layer.chip.storages.back().name, percent(figures.roofline_share));
  out += fmt::format("utilisation  {} % of {} compute units ({} in use)\n", percent(cost.utilization),
                     layer.chip.compute.instances, cost.compute.utilized_instances);
  out += fmt::format("energy       {}\n", energy_with_unit(cost.energy_pj));
  out += fmt::format("EDP          {} J*cycle\n", edp(cost.edp_j_cycles));
  if (layer.searched) {
    const base::Certificate& certificate = layer.optimum.certificate;
    out += certificate.optimal
               ? fmt::format("proof        optimal: none of {:.4g} mappings is better\n", certificate.space)
           : certificate.gap == 0
               ? "proof        not finished: no mapping is lower in the first metric, one may be in the next\n"
               : fmt::format("proof        not finished: the best mapping is at most {:.2f} % lower\n",
                             100 * certificate.gap);
  }
  out += "figures are modelled\n";
  return out;
}

}  // namespace orrery::verbs
