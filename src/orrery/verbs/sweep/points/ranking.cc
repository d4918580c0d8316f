#include "orrery/verbs/sweep/points/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace orrery::sweep {
namespace {

std::vector<Effect> effects_of(const Study& study, const Points& points, const std::vector<std::size_t>& ranked) {
  std::vector<Effect> out;
  double sum = 0, squares = 0;
  std::size_t count = 0;
  const Objective& objective = study.objectives.front();
  const auto value = [&](std::size_t at) { return std::log(points.figures(at)[objective.figure]); };
  std::vector<std::size_t> used;
  for (const std::size_t at : ranked) {
    const double v = value(at);
    if (!std::isfinite(v)) continue;
    used.push_back(at);
    sum += v, squares += v * v, ++count;
  }
  if (count < 2) return out;
  const double mean = sum / static_cast<double>(count);
  const double total = squares - sum * mean;
  // By axis and value: how many, and their sum.
  struct Cell {
    double count = 0, sum = 0;
  };
  const std::vector<const Axis*> axes = study.axes();
  std::vector<std::map<std::string, Cell>> cells(axes.size());
  for (const std::size_t at : used) {
    const base::Overrides set = study.at(points.number(at));
    for (std::size_t a = 0; a < axes.size(); ++a) {
      Cell& cell = cells[a][set[a].value];
      cell.count += 1, cell.sum += value(at);
    }
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    Effect effect{axes[a]->path, 0, {}};
    double between = 0, least = std::numeric_limits<double>::infinity();
    for (const auto& [text, cell] : cells[a]) {
      const double of_value = cell.sum / cell.count;
      between += cell.count * (of_value - mean) * (of_value - mean);
      if ((objective.most ? -of_value : of_value) < least)
        least = objective.most ? -of_value : of_value, effect.best = text;
    }
    effect.share = total > 1e-12 * static_cast<double>(count) ? std::clamp(between / total, 0.0, 1.0) : 0;
    out.push_back(std::move(effect));
  }
  std::stable_sort(out.begin(), out.end(), [](const Effect& a, const Effect& b) { return a.share > b.share; });
  return out;
}

}  // namespace

Costs costs_of(const Study& study, const store::Figures& figures) {
  Costs out;
  for (const Objective& objective : study.objectives) out.push_back(objective.cost(figures));
  return out;
}

bool within_budgets(const Study& study, const store::Figures& figures, std::string* why) {
  for (const Budget& budget : study.budgets) {
    const double value = figures[budget.figure];
    if (value <= budget.most) continue;
    if (why != nullptr)
      *why = std::isnan(value) ? fmt::format("its {} is not known", store::column(budget.figure))
                               : fmt::format("{} {:.6g} is over the budget of {:.6g}", store::column(budget.figure),
                                             value, budget.most);
    return false;
  }
  return true;
}

double excess_of(const Study& study, const store::Figures& figures) {
  double out = 0;
  for (const Budget& budget : study.budgets) {
    const double share = figures[budget.figure] / budget.most;
    out = std::isnan(share) ? std::numeric_limits<double>::infinity() : std::max(out, share);
  }
  return out;
}

Ranking rank(const Study& study, const Points& points) {
  Ranking out;
  std::vector<std::size_t> ranked;
  std::vector<Costs> costs;
  double least_excess = std::numeric_limits<double>::infinity();
  out.without_objective.resize(study.objectives.size());
  out.without_budget.resize(study.budgets.size());
  for (std::size_t at = 0; at < points.size(); ++at) {
    if (!points.found(at)) continue;
    const store::Figures& figures = points.figures(at);
    for (std::size_t o = 0; o < study.objectives.size(); ++o)
      out.without_objective[o] += std::isnan(figures[study.objectives[o].figure]);
    for (std::size_t b = 0; b < study.budgets.size(); ++b)
      out.without_budget[b] += std::isnan(figures[study.budgets[b].figure]);
    std::string why;
    if (!within_budgets(study, figures, &why)) {
      const double excess = excess_of(study, figures);
      if (excess < least_excess) least_excess = excess, out.nearest = at, out.excess = why;
      continue;
    }
    Costs of = costs_of(study, figures);
    if (std::all_of(of.begin(), of.end(), [](double cost) { return std::isinf(cost); })) continue;
    ranked.push_back(at);
    costs.push_back(std::move(of));
  }
  out.ranked = ranked.size();
  if (!ranked.empty()) out.nearest = Ranking::kNone;
  const std::size_t objectives = study.objectives.size();
  for (std::size_t o = 0; o < objectives; ++o) {
    std::size_t best = Ranking::kNone;
    const auto before = [&](std::size_t a, std::size_t b) {
      if (costs[a][o] != costs[b][o]) return costs[a][o] < costs[b][o];
      return costs[a] < costs[b];  // then the others in turn; equal ones as they come
    };
    for (std::size_t i = 0; i < ranked.size(); ++i)
      if (!std::isinf(costs[i][o]) && (best == Ranking::kNone || before(i, best))) best = i;
    out.best.push_back(best == Ranking::kNone ? best : ranked[best]);
  }
  for (Costs& each : costs)  // one without a figure is not compared
    if (std::any_of(each.begin(), each.end(), [](double cost) { return std::isinf(cost); })) each.clear();
  for (const std::size_t i : base::unbeaten(costs)) out.pareto.push_back(ranked[i]);
  if (objectives > 0) out.effects = effects_of(study, points, ranked);
  return out;
}

}  // namespace orrery::sweep
