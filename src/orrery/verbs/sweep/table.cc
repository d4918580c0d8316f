#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/present/bar.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/sweep/points/arguments.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {
namespace {

using store::Figure;
using sweep::Ranking;
using sweep::SweepAnswer;

constexpr std::size_t kMostListed = 20;  // of the front, and of all points

struct Shown {
  Figure figure;
  const char* heading;
  double unit;
};
constexpr Shown kShown[] = {{Figure::kEnergy, "energy", 1},      {Figure::kCycles, "cycles", 1},
                            {Figure::kEdp, "EDP (J*cycle)", 1},  {Figure::kUtilization, "util. (%)", 0.01},
                            {Figure::kArea, "area (mm^2)", 1e6}, {Figure::kSeconds, "seconds", 1},
                            {Figure::kDollars, "dollars", 1},    {Figure::kPower, "power (W)", 1}};

// Of an energy: as its largest value is read best, from a layer's to a training run's.
Shown in_unit(const Shown& shown, double largest) {
  static constexpr Shown kEnergies[] = {{Figure::kEnergy, "energy (uJ)", 1e6},
                                        {Figure::kEnergy, "energy (J)", 1e12},
                                        {Figure::kEnergy, "energy (kWh)", 3.6e18},
                                        {Figure::kEnergy, "energy (GWh)", 3.6e24}};
  if (shown.figure != Figure::kEnergy) return shown;
  return kEnergies[largest < 1e13 ? 0 : largest < 3.6e18 ? 1 : largest < 3.6e24 ? 2 : 3];
}

std::string figure_text(const Shown& shown, double value) {
  if (std::isnan(value)) return "-";
  if (shown.figure == Figure::kCycles) return fmt::format("{:.0f}", value);
  if (shown.figure == Figure::kUtilization) return percent(value);
  return fmt::format("{:.5g}", value / shown.unit);
}

// A row a point: what varies, then the figures that any of them has.
std::string rows_of(const SweepAnswer& answer, const std::vector<std::pair<std::string, std::size_t>>& rows) {
  Table table;
  table.header = {""};
  std::vector<Shown> columns;
  const std::vector<const sweep::Axis*> axes = answer.study.axes();
  for (const sweep::Axis* axis : axes) table.header.push_back(axis->path);
  for (const Shown& shown : kShown) {
    double largest = std::numeric_limits<double>::quiet_NaN();
    for (const auto& row : rows) largest = std::fmax(largest, answer.points.figures(row.second)[shown.figure]);
    if (std::isnan(largest)) continue;
    columns.push_back(in_unit(shown, largest));
    table.header.emplace_back(columns.back().heading);
  }
  for (const auto& [name, at] : rows) {
    std::vector<std::string> cells = {name};
    for (const base::Override& set : answer.study.at(answer.points.number(at))) cells.push_back(set.value);
    for (const Shown& shown : columns) cells.push_back(figure_text(shown, answer.points.figures(at)[shown.figure]));
    table.rows.push_back(std::move(cells));
  }
  return text(table);
}

// All points, where they are few: the best first, then those without the figure.
std::string all_points(const SweepAnswer& answer) {
  const sweep::Points& points = answer.points;
  if (points.size() < 2 || points.size() > kMostListed || answer.study.objectives.empty()) return {};
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t at = 0; at < points.size(); ++at)
    if (points.known(at)) {
      const double cost = sweep::costs_of(answer.study, points.figures(at))[0];
      order.emplace_back(std::isnan(cost) ? std::numeric_limits<double>::infinity() : cost, at);
    }
  if (order.empty()) return {};
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<std::string, std::size_t>> rows;
  for (const auto& [cost, at] : order)
    rows.emplace_back(
        std::isfinite(cost) ? fmt::format("{}", rows.size() + 1) : std::string(store::name(points.status(at))), at);
  const bool pruned = std::any_of(order.begin(), order.end(), [&](const auto& each) {
    return points.status(each.second) == store::Status::kPruned;
  });
  return fmt::format("\nevery point, by {}\n\n{}{}", answer.study.objectives[0].name, rows_of(answer, rows),
                     pruned ? "pruned: cannot be the best; `--all` evaluates these, too\n" : "");
}

// The values of the first point that was refused, and the first line of the reason.
std::string first_error(const SweepAnswer& answer, std::size_t errors) {
  const sweep::Points& points = answer.points;
  std::size_t at = 0;
  while (!points.known(at) || points.status(at) != store::Status::kError) ++at;
  const std::string& reason = points.reason(at);
  return fmt::format("{} at {}: {}\n{}", errors == 1 ? "the error" : "the first error",
                     sweep::values_text(answer.study.at(points.number(at))), reason.substr(0, reason.find('\n')),
                     errors == 1 ? "" : "`--export points.csv` lists every point with its reason\n");
}

// What the search of `map` was told to make least.
std::string minimised(const std::vector<std::string>& arguments) {
  const std::string option = "--objective";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(option + "=")) return arguments[i].substr(option.size() + 1);
    if (arguments[i] == option && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return "EDP, where no mapper's settings say otherwise";
}

}  // namespace

std::string sweep_table(const SweepAnswer& answer) {
  std::string out;
  std::size_t by_status[store::kStatuses] = {}, open = 0;
  for (std::size_t at = 0; at < answer.points.size(); ++at)
    answer.points.known(at) ? ++by_status[static_cast<std::size_t>(answer.points.status(at))] : ++open;
  std::vector<std::string> counts;
  for (int i = 0; i < store::kStatuses; ++i)
    if (by_status[i] > 0)
      counts.push_back(fmt::format("{} {}", base::grouped(static_cast<double>(by_status[i])),
                                   store::name(static_cast<store::Status>(i))));
  if (open > 0) counts.push_back(fmt::format("{} open", base::grouped(static_cast<double>(open))));
  out += fmt::format("{}: {} points of `{}`: {}\n", answer.row.title,
                     base::grouped(static_cast<double>(answer.points.size())), answer.study.verb,
                     base::joined(counts, ", "));
  if (answer.stored_before > 0)
    out += fmt::format("{} of them were stored before\n", base::grouped(static_cast<double>(answer.stored_before)));

  // Where nothing is ranked, explain_no_point says why.
  const std::size_t errors = by_status[static_cast<std::size_t>(store::Status::kError)];
  if (errors > 0 && (answer.ranking.ranked > 0 || !answer.finished)) out += first_error(answer, errors);

  std::vector<std::pair<std::string, std::size_t>> best;
  for (std::size_t o = 0; o < answer.ranking.best.size(); ++o)
    if (answer.ranking.best[o] != Ranking::kNone)
      best.emplace_back("best " + answer.study.objectives[o].name, answer.ranking.best[o]);
  if (!best.empty()) out += "\n" + rows_of(answer, best);
  if (answer.ranking.ranked > 0) out += all_points(answer);
  if (answer.study.objectives.size() > 1 && answer.ranking.pareto.size() > 1) {
    // Points with the same figures stand behind each other; the first one stands for all.
    std::vector<std::pair<std::string, std::size_t>> front;
    std::size_t left_out = 0, alike = 0;
    const store::Figures* before = nullptr;
    for (const std::size_t at : answer.ranking.pareto) {
      const store::Figures& figures = answer.points.figures(at);
      if (before && std::memcmp(before, &figures, sizeof figures) == 0) {
        ++alike;
        continue;
      }
      before = &figures;
      if (front.size() < kMostListed)
        front.emplace_back(fmt::format("{}", front.size() + 1), at);
      else
        ++left_out;
    }
    out += fmt::format(
        "\n{} points that no other one beats in {}\n\n{}", answer.ranking.pareto.size(),
        [&] {
          std::string names;
          for (const sweep::Objective& objective : answer.study.objectives)
            names += (names.empty() ? "" : " and ") + objective.name;
          return names;
        }(),
        rows_of(answer, front));
    if (left_out > 0) out += fmt::format("and {} more\n", left_out);
    if (alike > 0) out += fmt::format("not shown: {} with the same figures as one above\n", alike);
    out += "\n" + sweep_scatter(answer);
  }
  if (!answer.ranking.effects.empty()) {
    std::vector<ChartRow> rows;
    bool any = false;
    for (const sweep::Effect& effect : answer.ranking.effects) {
      rows.push_back({effect.path, effect.share, fmt::format("best {}", effect.best)});
      any = any || effect.share > 0;
    }
    const std::string& name = answer.study.objectives.front().name;
    out += any ? fmt::format("\nwhat {} depends on, percent of the variance of its logarithm over {} points\n{}", name,
                             answer.ranking.ranked, bar_chart(rows, 1))
               : fmt::format("\n{} depends on none of these fields: {} points have the same\n", name,
                             answer.ranking.ranked);
  }
  if (answer.study.verb == "map" && answer.ranking.ranked > 0) {
    std::string first = minimised(answer.study.arguments);
    if (const std::size_t comma = first.find(','); comma != std::string::npos && first.find(' ') == std::string::npos)
      first.replace(comma, 1, ", then ");
    out += "\nmappings are those of least " + first + "\n";
  }
  if (!answer.finished) out += "\nnot finished; the same command goes on from here\n";
  return out + "figures are modelled\n";
}

std::string sweep_status_table(const StoreStatus& status) {
  Table table;
  table.header = {"study",  "verb",       "points", "stored",        "optimal", "gap",
                  "pruned", "infeasible", "error",  "changed (UTC)", "title"};
  table.left_columns = {table.header.size() - 1};
  for (const store::Summary& each : status.studies)
    table.rows.push_back({fmt::format("{}", each.study.id), each.study.verb, fmt::format("{}", each.study.points),
                          fmt::format("{}", each.stored), fmt::format("{}", each.by_status[0]),
                          fmt::format("{}", each.by_status[1]), fmt::format("{}", each.by_status[2]),
                          fmt::format("{}", each.by_status[3]), fmt::format("{}", each.by_status[5]), each.changed,
                          each.study.title});
  return fmt::format("{}, integrity {}\n\n{}", status.path, status.integrity, text(table));
}

base::Diagnostic explain_no_point(const SweepAnswer& answer) {
  base::Diagnostics found;
  const sweep::Points& points = answer.points;
  const std::size_t nearest = answer.ranking.nearest;
  bool all_excluded = points.size() > 0;
  for (std::size_t at = 0; at < points.size() && all_excluded; ++at)
    all_excluded = points.known(at) && points.status(at) == store::Status::kPruned;
  if (nearest != Ranking::kNone || all_excluded) {
    auto& error = found.error("O2050", "no point is within the budgets");
    for (const sweep::Budget& budget : answer.study.budgets)
      error.note(fmt::format("budget: {} <= {:.6g}", store::column(budget.figure), budget.most));
    if (nearest != Ranking::kNone)
      error.note(fmt::format("the nearest is {}: {}", sweep::values_text(answer.study.at(points.number(nearest))),
                             answer.ranking.excess));
    return error.hint("raise the budget, or let other values in");
  }
  auto& error = found.error("O2064", "no point has an answer with the figures asked for");
  std::map<std::string, std::size_t> reasons;
  for (std::size_t at = 0; at < points.size(); ++at)
    if (points.known(at)) ++reasons[points.reason(at)];
  std::vector<std::pair<std::size_t, std::string>> most;
  for (const auto& [reason, count] : reasons)
    if (!reason.empty()) most.emplace_back(count, reason);
  std::sort(most.rbegin(), most.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(3, most.size()); ++i)
    error.note(fmt::format("{} point{}: {}", most[i].first, base::plural(most[i].first), most[i].second));
  error.hint("`--export points.csv` lists every point with its reason");
  return error;
}

}  // namespace orrery::verbs
