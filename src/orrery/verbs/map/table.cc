#include "orrery/verbs/map/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/map/loop_nest_text.h"

namespace orrery::verbs {
namespace {

std::string quality(const MappedLayer& layer) {
  if (!layer.searched) return "given";
  const base::Certificate& certificate = layer.optimum.certificate;
  if (certificate.optimal) return "optimal";
  return fmt::format("gap {:.2f}%", 100 * certificate.gap);
}

std::string objective_name(const std::vector<nest::Metric>& objective) {
  std::string out;
  for (nest::Metric metric : objective) {
    const char* name = metric == nest::Metric::kEdp ? "EDP" : metric == nest::Metric::kEnergy ? "energy" : "delay";
    out += (out.empty() ? "" : ", then ") + std::string(name);
  }
  return out;
}

std::vector<std::string> layer_row(const MappedLayer& layer) {
  const std::string milliseconds =
      layer.searched ? fmt::format("{:.1f}", 1e3 * layer.optimum.certificate.seconds) : "-";
  if (!layer.found()) {
    const char* why = layer.optimum.infeasible ? "no mapping" : "none found";
    return {layer.name, std::to_string(layer.instances), "-", "-", "-", "-", why, milliseconds};
  }
  const nest::Evaluation& cost = layer.optimum.evaluation;
  return {layer.name,
          std::to_string(layer.instances),
          energy_uj(cost.energy_pj),
          std::to_string(cost.cycles),
          percent(cost.utilization),
          edp(cost.edp_j_cycles),
          quality(layer),
          milliseconds};
}

std::vector<std::string> array_row(const ArrayRow& row) {
  return {row.name,
          std::to_string(row.instances),
          energy_uj(row.energy_pj),
          std::to_string(row.cycles),
          "-",
          edp(row.edp_j_cycles),
          "simulated",
          "-"};
}

}  // namespace

std::string model_table(const std::vector<MappedLayer>& layers, base::Count blocks, const std::string& selected,
                        const ArrayAttention& attention) {
  Table table;
  table.header = {"layer", "instances", "energy (uJ)", "cycles", "util. (%)", "EDP (J*cycle)", "proof", "ms"};
  for (std::size_t i = 0; i <= layers.size(); ++i) {
    for (const ArrayRow& row : attention.rows)
      if (row.before == i) table.rows.push_back(array_row(row));
    if (i < layers.size()) table.rows.push_back(layer_row(layers[i]));
  }

  const std::size_t all = table.rows.size();
  const bool several = all > 1 || blocks > 1 || (layers.size() == 1 && layers[0].instances > 1);
  const auto missing = static_cast<std::size_t>(
      std::count_if(layers.begin(), layers.end(), [](const auto& layer) { return !layer.found(); }));
  const std::size_t found = all - missing;
  const bool all_found = missing == 0;
  if (several && found > 0) {
    table.rules_before.push_back(table.rows.size());
    const auto add = [&](std::string name, base::Count count, const Totals& sum) {
      if (!selected.empty()) name = selected + ", " + name;
      if (!all_found) name += fmt::format(", {} of {} layers", found, all);
      table.rows.push_back({std::move(name), std::to_string(count), energy_uj(sum.energy_pj),
                            std::to_string(sum.cycles), "", edp(sum.edp_j_cycles), all_found ? "" : "incomplete", ""});
    };
    const Totals block = verbs::totals(layers, attention.rows);
    add(blocks > 1 ? "one block" : "total", 1, block);
    if (blocks > 1) add("all blocks", blocks, verbs::times(block, blocks));
  }
  std::string remark = "modelled; energy, cycles and EDP of a layer are for one instance, of totals for all";
  if (!layers.empty() && layers[0].searched) remark += "; least " + objective_name(layers[0].objective);
  if (std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return layer.estimates != nullptr; }))
    remark += "\nno ERT: energies of actions are estimated; `orrery energy` tells their origin";
  if (!attention.rows.empty())
    remark += fmt::format("\nsimulated: {}, at a density of {:.4f}; its seconds in cycles of the chip, {:g} ns each",
                          attention.array.name, attention.array.density, 1e9 * attention.cycle_seconds);
  return text(table) + remark + "\n";
}

std::string left_out_line(const MappedWork& work) {
  std::string out;
  for (const MappedWork::Left& left : work.left_out) {
    out += (out.empty() ? "not mapped: " : ", ") + left.what;
    if (left.share) out += fmt::format(" ({} % of the products)", percent(*left.share));
  }
  return out.empty() ? out : out + "\n";
}

std::string front_table(const MappedLayer& layer) {
  Table table;
  table.header = {"energy (uJ)", "cycles", "util. (%)", "EDP (J*cycle)", "proof"};
  std::size_t found = 0;
  for (const nest::Optimum& point : layer.front->points) {
    if (!point.mapping) continue;
    ++found;
    const nest::Evaluation& cost = point.evaluation;
    table.rows.push_back(
        {energy_uj(cost.energy_pj), std::to_string(cost.cycles), percent(cost.utilization), edp(cost.edp_j_cycles),
         point.certificate.optimal ? "optimal" : fmt::format("gap {:.2f}%", 100 * point.certificate.gap)});
  }
  std::string out =
      fmt::format("{}: least energy for each number of cycles, {} point{}\n", layer.name, found, found == 1 ? "" : "s");
  out += text(table);
  out += layer.front->complete ? "complete: every other mapping is matched in both by one of these\n"
                               : "not complete: a limit ended the search; faster mappings may be missing\n";
  std::size_t number = 0;
  for (const nest::Optimum& point : layer.front->points)
    if (point.mapping) out += fmt::format("{:>4}  {}\n", ++number, one_line(layer.einsum, *point.mapping));
  return out;
}

}  // namespace orrery::verbs
