#include "orrery/verbs/train/plan_map_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/graph_svg.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/train/plan_search_text.h"

namespace orrery::verbs {
namespace {

using base::Count;
using cluster::Candidate;

constexpr std::size_t kMostRows = 24;
constexpr double kCellWidth = 62, kCellHeight = 26, kLeft = 70, kTop = 74, kBottom = 20;

struct PlanMap {
  std::vector<Count> tp, pp;
  std::map<std::pair<Count, Count>, const Candidate*> cells;
  double best = 0;
  std::size_t hidden = 0;  // rows that are not shown
};

double excess(const PlanMap& map, const Candidate& cell) {
  return cell.score[0] / map.best - 1;
}

// Rows within the limit, those with the best cells first.
PlanMap map_of(const TrainedModel& trained) {
  PlanMap map;
  std::set<Count> tps;
  std::map<Count, double> rows;  // the least of each
  for (const Candidate& cell : trained.search->cells) {
    tps.insert(cell.plan.tp);
    map.cells[{cell.plan.tp, cell.plan.pp}] = &cell;
    const auto [row, made] = rows.try_emplace(cell.plan.pp, cell.score[0]);
    row->second = std::min(row->second, cell.score[0]);
    map.best = map.best > 0 ? std::min(map.best, cell.score[0]) : cell.score[0];
  }
  map.tp.assign(tps.begin(), tps.end());
  std::vector<std::pair<double, Count>> order;
  for (const auto& [pp, least] : rows) order.emplace_back(least, pp);
  std::sort(order.begin(), order.end());
  if (order.size() > kMostRows) {
    map.hidden = order.size() - kMostRows;
    order.resize(kMostRows);
  }
  for (const auto& [least, pp] : order) map.pp.push_back(pp);
  std::sort(map.pp.begin(), map.pp.end());
  return map;
}

std::string heading(const TrainedModel& trained, const PlanMap& map) {
  return fmt::format("{} of the best plan of every tp x pp, in percent above {}",
                     metric_name(trained.search->objective.metrics.front()),
                     trained.search->objective.metrics.front() == cluster::Metric::kTime
                         ? shown_seconds(map.best)
                         : fmt::format("{:.4g}", map.best));
}

// From blue (the best) by white to orange (twice as much and more).
std::string colour_of(double share) {
  const double at = std::clamp(share <= 0 ? 0.0 : std::log2(1 + share), 0.0, 1.0);
  const double low[3] = {72, 120, 168}, high[3] = {224, 150, 48};
  const auto part = [&](int i) {
    const double colour = at < 0.5 ? low[i] + (255 - low[i]) * 2 * at : 255 + (high[i] - 255) * (2 * at - 1);
    return base::whole_number(std::round(colour)).value_or(255);
  };
  return fmt::format("rgb({},{},{})", part(0), part(1), part(2));
}

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, xml_text(text));
}

}  // namespace

std::string plan_map(const TrainedModel& trained) {
  const PlanMap map = map_of(trained);
  std::string out = heading(trained, map) + "\n    pp\\tp";
  for (const Count tp : map.tp) out += fmt::format("{:>8}", tp);
  out += "\n";
  for (const Count pp : map.pp) {
    out += fmt::format("{:>9}", pp);
    for (const Count tp : map.tp) {
      const auto cell = map.cells.find({tp, pp});
      if (cell == map.cells.end())
        out += "       -";
      else if (const double share = excess(map, *cell->second); share == 0)
        out += "    best";
      else
        out += share < 9.995 ? fmt::format("{:>+8.1f}", 100 * share) : fmt::format("{:>7.0f}x", 1 + share);
    }
    out += "\n";
  }
  if (map.hidden > 0) out += fmt::format("    {} numbers of stages more, none of them better than these\n", map.hidden);
  return out + "    -: no plan is within the limits\n";
}

std::string plan_map_svg(const TrainedModel& trained) {
  if (!trained.search || trained.search->cells.empty()) return "";
  const PlanMap map = map_of(trained);
  const double width = std::max(560.0, kLeft + kCellWidth * static_cast<double>(map.tp.size()) + 20);
  const double height = kTop + kCellHeight * static_cast<double>(map.pp.size()) + kBottom;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  out += text_at(
      12, 20, "font-size=\"14\"",
      fmt::format("{} on {} x {}", trained.model.name, trained.plan.gpus + trained.search->idle, trained.system.name));
  out += text_at(12, 38, "fill=\"#555\"", heading(trained, map));
  for (std::size_t i = 0; i < map.tp.size(); ++i)
    out += text_at(kLeft + kCellWidth * (static_cast<double>(i) + 0.5), kTop - 8, "text-anchor=\"middle\"",
                   fmt::format("tp {}", map.tp[i]));
  for (std::size_t j = 0; j < map.pp.size(); ++j) {
    const double y = kTop + kCellHeight * static_cast<double>(j);
    out += text_at(kLeft - 8, y + 17, "text-anchor=\"end\"", fmt::format("pp {}", map.pp[j]));
    for (std::size_t i = 0; i < map.tp.size(); ++i) {
      const auto cell = map.cells.find({map.tp[i], map.pp[j]});
      if (cell == map.cells.end()) continue;
      const double x = kLeft + kCellWidth * static_cast<double>(i);
      const double share = excess(map, *cell->second);
      out += fmt::format("<g><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
                         kCellWidth - 2, kCellHeight - 2, colour_of(share));
      out += fmt::format("<title>{}</title>\n",
                         xml_text(fmt::format("{}\n{}, {:.2f} GB", plan_line(trained.model, cell->second->plan),
                                              shown_seconds(cell->second->iteration.iteration_s),
                                              cell->second->iteration.memory.total() / 1e9)));
      out += text_at(x + kCellWidth / 2 - 1, y + 16, "text-anchor=\"middle\"",
                     share == 0      ? "best"
                     : share < 9.995 ? fmt::format("{:+.1f} %", 100 * share)
                                     : fmt::format("{:.0f} x", 1 + share));
      out += "</g>\n";
    }
  }
  return out + "</svg>\n";
}

}  // namespace orrery::verbs
