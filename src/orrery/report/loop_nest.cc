#include "orrery/report/loop_nest.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/report/bar.h"
#include "orrery/report/table.h"

namespace orrery::report {
namespace {

struct Loop {
  int dimension = 0;
  base::Count bound = 1;
  char mesh = ' ';  // 'X', 'Y'; ' ' in time
};

std::vector<Loop> temporal_loops(const nest::LevelMapping& level) {
  std::vector<Loop> loops;
  for (auto d = level.temporal_order.rbegin(); d != level.temporal_order.rend(); ++d)
    if (level.temporal[*d] > 1) loops.push_back({*d, level.temporal[*d], ' '});
  return loops;
}

std::vector<Loop> spatial_loops(const nest::LevelMapping& level) {
  std::vector<Loop> loops;
  for (int at = static_cast<int>(level.spatial_order.size()) - 1; at >= 0; --at) {
    const int d = level.spatial_order[at];
    if (level.spatial[d] > 1) loops.push_back({d, level.spatial[d], at < level.split ? 'X' : 'Y'});
  }
  return loops;
}

std::vector<Loop> loops_of(const nest::LevelMapping& level) {
  std::vector<Loop> loops = temporal_loops(level);
  for (const Loop& loop : spatial_loops(level)) loops.push_back(loop);
  return loops;
}

// First letters where they tell the dataspaces apart, else whole names.
std::vector<std::string> short_names(const workload::Einsum& einsum) {
  std::set<char> letters;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) letters.insert(dataspace.name[0]);
  std::vector<std::string> names;
  for (const workload::Dataspace& dataspace : einsum.dataspaces)
    names.push_back(letters.size() == einsum.dataspaces.size() ? dataspace.name.substr(0, 1) : dataspace.name + ",");
  return names;
}

struct EnergyRow {
  std::string name;
  double energy_pj = 0;
};

std::vector<EnergyRow> energy_rows(const scenario::MappedLayer& layer) {
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

std::string map_txt(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                    const nest::Evaluation& evaluation) {
  std::string out;
  int depth = 0;
  for (std::size_t i = chip.storages.size(); i-- > 0;) {
    std::string head = chip.storages[i].name + " [ ";
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      const nest::DataspaceCost& cost = evaluation.storages[i].dataspaces[s];
      if (cost.kept) head += fmt::format("{0}:{1} ({1}) ", einsum.dataspaces[s].name, cost.tile_words);
    }
    head += "]";
    out += head + " \n";

    const std::vector<Loop> loops = loops_of(mapping.levels[i]);
    if (!loops.empty() || i == 0) out += std::string(head.size(), '-') + "\n";
    for (const Loop& loop : loops) {
      out += fmt::format("| {}for {} in [0:{})", std::string(2 * depth, ' '), einsum.dimensions[loop.dimension].name,
                         loop.bound);
      if (loop.mesh != ' ') out += fmt::format(" (Spatial-{})", loop.mesh);
      out += "\n";
      ++depth;
    }
    if (i == 0) {
      out += fmt::format("| {}<< Compute >>\n", std::string(2 * depth, ' '));
    } else if (!loops.empty()) {
      out += "\n";
    }
  }
  return out;
}

std::string one_line(const workload::Einsum& einsum, const nest::Mapping& mapping) {
  const std::vector<std::string> names = short_names(einsum);
  std::string out;
  for (std::size_t i = mapping.levels.size(); i-- > 0;) {
    const nest::LevelMapping& level = mapping.levels[i];
    if (!out.empty()) out += " - ";
    std::string kept;
    for (std::size_t s = 0; s < names.size(); ++s)
      if (level.keep >> s & 1u) kept += names[s];
    if (!kept.empty() && kept.back() == ',') kept.pop_back();
    out += fmt::format("L{}[{}]", i + 1, kept);

    std::vector<Loop> temporal = temporal_loops(level);
    if (temporal.empty() && !level.temporal_order.empty()) temporal.push_back({level.temporal_order.back(), 1, ' '});
    for (const Loop& loop : temporal) out += fmt::format(" {}{}", einsum.dimensions[loop.dimension].name, loop.bound);
    for (const Loop& loop : spatial_loops(level))
      out += fmt::format(" {}{}{}", einsum.dimensions[loop.dimension].name, loop.bound, loop.mesh);
  }
  return out;
}

int binding_level(const nest::Evaluation& evaluation) {
  int binding = -1;
  for (std::size_t i = 0; i < evaluation.storages.size(); ++i) {
    if (evaluation.storages[i].throttle >= 1) continue;
    if (binding < 0 || evaluation.storages[i].cycles > evaluation.storages[binding].cycles)
      binding = static_cast<int>(i);
  }
  return binding;
}

std::string layer_view(const scenario::MappedLayer& layer) {
  const nest::Evaluation& cost = layer.optimum.evaluation;
  std::string shape;
  for (const workload::Dimension& dimension : layer.einsum.dimensions)
    if (dimension.bound > 1) shape += fmt::format(" {}={}", dimension.name, dimension.bound);
  std::string out = fmt::format("{}:{}", layer.name, shape.empty() ? " one operation" : shape);
  if (layer.instances > 1) out += fmt::format(", {} instances", layer.instances);
  out += "\n\n" + map_txt(layer.einsum, layer.chip, *layer.optimum.mapping, cost) + "\n";

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
  out += fmt::format("energy       {} uJ\n", energy_uj(cost.energy_pj));
  out += fmt::format("EDP          {} J*cycle\n", edp(cost.edp_j_cycles));
  if (layer.searched) {
    const cost::Certificate& certificate = layer.optimum.certificate;
    out += certificate.optimal
               ? fmt::format("proof        optimal: none of {:.4g} mappings is better\n", certificate.space)
               : fmt::format("proof        not finished: the best mapping is at most {:.2f} % lower\n",
                             100 * certificate.gap);
  }
  out += "figures are modelled\n";
  return out;
}

}  // namespace orrery::report
