#include "orrery/verbs/map/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
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
  if (!layer.found()) {
    const char* why = layer.optimum.infeasible ? "no mapping" : "none found";
    return {layer.name, std::to_string(layer.instances), "-", "-", "-", "-", "-", "-", "-", "-", why};
  }
  const nest::Evaluation& cost = layer.optimum.evaluation;
  const LayerFigures figures = figures_of(layer);
  return {layer.name,
          std::to_string(layer.instances),
          energy_uj(cost.energy_pj),
          std::to_string(cost.cycles),
          shown_seconds(figures.seconds),
          edp(cost.edp_j_cycles),
          percent(cost.utilization),
          percent(figures.roofline_share),
          figures.operations_per_byte ? fmt::format("{:.4g}", *figures.operations_per_byte) : "-",
          figures.bound_by,
          quality(layer)};
}

std::vector<std::string> array_row(const ArrayRow& row) {
  return {row.name,
          std::to_string(row.instances),
          energy_uj(row.energy_pj),
          std::to_string(row.cycles),
          shown_seconds(row.seconds),
          edp(row.edp_j_cycles),
          "-",
          "-",
          "-",
          "array",
          "simulated"};
}

// Of chips whose clocks differ, as their layers.
std::string clocks(const std::vector<MappedLayer>& layers) {
  std::string out;
  std::vector<double> seen;
  for (const MappedLayer& layer : layers) {
    const double clock = layer.chip.cycle_seconds;
    if (std::find(seen.begin(), seen.end(), clock) != seen.end()) continue;
    seen.push_back(clock);
    out += fmt::format("{}{:g} ns", out.empty() ? "" : " or ", 1e9 * clock);
  }
  return out;
}

std::string remarks(const std::vector<MappedLayer>& layers, const ArrayAttention& attention) {
  std::string out = "modelled; energy, cycles, time and EDP of a layer are for one instance, of totals for all";
  if (layers.empty()) return out;
  if (layers[0].searched) out += "; least " + objective_name(layers[0].objective);
  const machine::Storage& outermost = layers[0].chip.storages.back();
  out += fmt::format("\na cycle takes {}; op/byte: multiply-accumulates a byte that passes {}; roof %: of its roofline",
                     clocks(layers), outermost.name);
  if (std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return layer.estimates != nullptr; }))
    out += "\nno ERT: energies of actions are estimated; `orrery energy` tells their origin";
  if (!attention.rows.empty())
    out += fmt::format("\nsimulated: {}, at a density of {:.4f}; its seconds in cycles of the chip, {:g} ns each",
                       attention.array.name, attention.array.density, 1e9 * attention.cycle_seconds);
  return out;
}

}  // namespace

std::string model_table(const std::vector<MappedLayer>& layers, base::Count blocks, const std::string& selected,
                        const ArrayAttention& attention) {
  Table table;
  table.header = {"layer",   "inst.",  "energy (uJ)", "cycles",   "time", "EDP (J*cycle)",
                  "util. %", "roof %", "op/byte",     "bound by", "proof"};
  table.left_columns = {9};
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
                            std::to_string(sum.cycles), shown_seconds(sum.seconds), edp(sum.edp_j_cycles), "", "", "",
                            "", all_found ? "" : "incomplete"});
    };
    const Totals block = verbs::totals(layers, attention.rows);
    add(blocks > 1 ? "one block" : "total", 1, block);
    if (blocks > 1) add("all blocks", blocks, verbs::times(block, blocks));
  }
  return text(table) + remarks(layers, attention) + "\n";
}

std::string whole_lines(const MapAnswer& answer) {
  const std::vector<MappedLayer>& layers = answer.mapped.layers;
  const auto found = [](const MappedLayer& layer) { return layer.found(); };
  if (layers.empty() || !std::all_of(layers.begin(), layers.end(), found)) return "";
  const Totals sum =
      verbs::times(verbs::totals(layers, answer.mapped.attention.rows), std::max<base::Count>(1, answer.blocks));
  std::vector<std::string> figures = {shown_seconds(sum.seconds)};
  if (const auto rate = answer.tokens_per_s())
    figures.push_back(
        fmt::format("{:.4g} {} a second", *rate, answer.work->phase == "verify" ? "verified tokens" : "tokens"));
  if (sum.seconds > 0) figures.push_back(shown_watts(sum.energy_pj * 1e-12 / sum.seconds));
  if (const auto area = verbs::area_um2(layers[0].chip)) figures.push_back(fmt::format("{:.2f} mm2", *area / 1e6));
  const bool whole = !answer.work || std::none_of(answer.work->left_out.begin(), answer.work->left_out.end(),
                                                  [](const MappedWork::Left& left) { return left.share.has_value(); });
  std::string out = fmt::format("in all{}: {}\n", whole ? "" : " that is mapped", base::joined(figures, ", "));
  if (!answer.work || !answer.selected.empty()) return out;
  constexpr std::size_t kWidth = 120;
  std::string line;
  for (const std::string& one : answer.work->legend) {
    const bool full = line.size() + one.size() + 2 > kWidth;
    if (full) out += line + ";\n";
    line = line.empty() ? "layers: " + one : full ? "        " + one : line + "; " + one;
  }
  return line.empty() ? out : out + line + "\n";
}

std::string left_out_line(const MappedWork& work) {
  std::string out;
  for (const MappedWork::Left& left : work.left_out) {
    out += (out.empty() ? "not mapped: " : ", ") + left.what;
    if (left.share) out += fmt::format(" ({} % of the products)", percent(*left.share));
  }
  return out.empty() ? out : out + "\n";
}

std::string front_table(const MappedLayer& layer, bool as_timeloop) {
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
    if (point.mapping) out += fmt::format("{:>4}  {}\n", ++number, mapping_line(layer, *point.mapping, as_timeloop));
  return out;
}

}  // namespace orrery::verbs
