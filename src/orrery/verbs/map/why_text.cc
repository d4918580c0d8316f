#include "orrery/verbs/map/why_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/map/loop_nest_text.h"

namespace orrery::verbs {
namespace {

double over(double forced, double best) {
  return forced == best ? 1 : forced / best;
}

bool differ(double a, double b) {
  return std::abs(a - b) > 1e-9 * std::max(std::abs(a), std::abs(b));
}

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.4f}", ratio) : "-";
}

}  // namespace

CostRatio ratio_to_best(const MappedLayer& layer) {
  const nest::Evaluation& best = layer.optimum.evaluation;
  const nest::Evaluation& forced = layer.forced->optimum.evaluation;
  return {over(forced.energy_pj, best.energy_pj),
          over(static_cast<double>(forced.cycles), static_cast<double>(best.cycles)),
          over(forced.edp_j_cycles, best.edp_j_cycles)};
}

std::vector<LevelDifference> level_differences(const MappedLayer& layer) {
  const nest::Evaluation& best = layer.optimum.evaluation;
  const nest::Evaluation& forced = layer.forced->optimum.evaluation;
  std::vector<LevelDifference> levels;
  const auto add = [&](const std::string& name, double best_pj, double forced_pj) {
    if (differ(best_pj, forced_pj)) levels.push_back({name, best_pj, forced_pj});
  };
  for (std::size_t i = layer.chip.storages.size(); i-- > 0;)
    add(layer.chip.storages[i].name, best.storages[i].energy_pj, forced.storages[i].energy_pj);
  add(layer.chip.compute.name, best.compute.energy_pj, forced.compute.energy_pj);
  for (std::size_t i = 0; i < best.networks.size() && i < forced.networks.size(); ++i)
    add(layer.chip.networks[i].name, best.networks[i].energy_pj, forced.networks[i].energy_pj);
  return levels;
}

std::string why_view(const MappedLayer& layer, bool as_timeloop) {
  const nest::Evaluation& best = layer.optimum.evaluation;
  const nest::Evaluation& forced = layer.forced->optimum.evaluation;
  const CostRatio ratio = ratio_to_best(layer);
  Table table;
  table.header = {fmt::format("{}: why not {}", layer.name, layer.forced->choice), "best", "forced", "ratio"};
  table.rows = {
      {"energy (uJ)", energy_uj(best.energy_pj), energy_uj(forced.energy_pj), ratio_text(ratio.energy)},
      {"cycles", std::to_string(best.cycles), std::to_string(forced.cycles), ratio_text(ratio.cycles)},
      {"EDP (J*cycle)", edp(best.edp_j_cycles), edp(forced.edp_j_cycles), ratio_text(ratio.edp)},
  };
  const std::vector<LevelDifference> levels = level_differences(layer);
  if (!levels.empty()) table.rules_before.push_back(table.rows.size());
  for (const LevelDifference& level : levels)
    table.rows.push_back({fmt::format("{} (uJ)", level.name), energy_uj(level.best_pj), energy_uj(level.forced_pj),
                          ratio_text(over(level.forced_pj, level.best_pj))});
  std::string out = text(table);
  out += levels.empty() ? "no level's energy differs\n" : "energies of the other levels are the same\n";
  out += fmt::format("best    {}\nforced  {}\n", mapping_line(layer, *layer.optimum.mapping, as_timeloop),
                     mapping_line(layer, *layer.forced->optimum.mapping, as_timeloop));
  const base::Certificate& certificate = layer.forced->optimum.certificate;
  if (!certificate.optimal)
    out +=
        fmt::format("not proven: the best mapping with this choice is at most {:.2f} % lower\n", 100 * certificate.gap);
  return out;
}

}  // namespace orrery::verbs
