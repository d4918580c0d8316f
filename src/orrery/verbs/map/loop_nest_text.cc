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

}  // namespace

int binding_level(const nest::Evaluation& evaluation) {
  int binding = -1;
  for (std::size_t i = 0; i < evaluation.storages.size(); ++i) {
    if (evaluation.storages[i].throttle >= 1) continue;
    if (binding < 0 || evaluation.storages[i].cycles > evaluation.storages[binding].cycles)
      binding = static_cast<int>(i);
  }
  return binding;
}

std::string layer_view(const MappedLayer& layer) {
  const nest::Evaluation& cost = layer.optimum.evaluation;
  std::string shape;
  for (const workload::Dimension& dimension : layer.einsum.dimensions)
    if (dimension.bound > 1) shape += fmt::format(" {}={}", dimension.name, dimension.bound);
  std::string out = fmt::format("{}:{}", layer.name, shape.empty() ? " one operation" : shape);
  if (layer.instances > 1) out += fmt::format(", {} instances", layer.instances);
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
  out += fmt::format("cycles       {}\n", cost.cycles);
  if (binding >= 0) {
    out += fmt::format("bound by     bandwidth of {}: it needs {} cycles, the compute units {}\n",
                       layer.chip.storages[binding].name, cost.storages[binding].cycles, cost.compute.cycles);
  } else {
    out += "bound by     compute: no storage's bandwidth adds cycles\n";
  }
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
