// Charts of `sweep`, and of the points of `sparse sweep` and `sparse design`.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"
#include "orrery/present/charts/study_parallel.h"

namespace orrery::verbs {
namespace {

// The field of a point that an objective ranks by, and what its axis says.
struct Ranked {
  const char *objective, *field, *title, *unit;  // a unit that is scaled, or none
};
constexpr Ranked kRanked[] = {{"edp", "edp_j_cycles", "energy-delay product (J*cycle)", ""},
                              {"edp-seed", "edp_seed", "sum of the layers' energy-delay products (J*cycle)", ""},
                              {"energy", "energy_pj", "energy", "pJ"},
                              {"cycles", "cycles", "cycles", ""},
                              {"utilization", "utilization", "utilisation", ""},
                              {"area", "area_um2", "area", "um^2"},
                              {"seconds", "seconds", "time", "s"},
                              {"dollars", "dollars", "cost (dollars)", ""},
                              {"power", "power_w", "power (W)", ""}};

const Ranked* ranked(const std::string& objective) {
  for (const Ranked& each : kRanked)
    if (objective == each.objective) return &each;
  return nullptr;
}

std::string config_text(const Node& point) {
  std::string out;
  for (const auto& [path, value] : config_of(point))
    out += (out.empty() ? "" : ", ") + last_part(path) + " " + shown_text(*value);
  return out;
}

// Its figures: those of the objectives first.
ChartMark study_mark(const Node& point, std::size_t place, const Node* x, const Node* y,
                     const std::vector<const Ranked*>& objectives) {
  ChartMark mark;
  mark.x = x->number, mark.y = y->number;
  mark.facts = {derived("point", fmt::format("{}", place))};
  for (const auto& [path, value] : config_of(point)) mark.facts.push_back(fact(path, value));
  const auto take = [&](const Ranked& each) {
    if (const Node* figure = at(point, each.field); figure && figure->is_number())
      mark.facts.push_back(fact(each.field, figure));
  };
  for (const Ranked* each : objectives) take(*each);
  const auto same = [&](const char* a, const char* b) { return number_at(point, a) == number_at(point, b); };
  for (const Ranked& each : kRanked)
    if (std::none_of(objectives.begin(), objectives.end(), [&](const Ranked* by) { return by->field == each.field; }) &&
        !(each.field == std::string_view("edp_seed") && same("edp_seed", "edp_j_cycles")))
      take(each);
  return mark;
}

struct StudyPoints {
  const std::vector<Node>* points;
  std::vector<const Ranked*> objectives;
  std::set<std::size_t> front;
  std::vector<std::size_t> in_order;  // of the front
};

// Of a front of which less is better in both: the points at its ends, and the one that is near to both.
std::string points_that_matter(const Chart& chart, const char* x, const char* y) {
  const auto [across, up] = scales_of(chart);
  const ChartMark *left = nullptr, *low = nullptr, *near = nullptr;
  double nearest = 0;
  std::size_t count = 0;
  for (const ChartMark& mark : chart.marks) {
    if (mark.series != chart.series[0]) continue;
    ++count;
    const double far = std::hypot(across.share(mark.x), up.share(mark.y));
    if (left == nullptr || mark.x < left->x) left = &mark;
    if (low == nullptr || mark.y < low->y) low = &mark;
    if (near == nullptr || far < nearest) near = &mark, nearest = far;
  }
  if (count < 3 || near == left || near == low) return "";
  const auto said = [](const ChartMark& mark) { return fmt::format("point {} ({})", mark.facts[0].shown, mark.label); };
  return fmt::format("Three that matter: the least {} has {}, the least {} {}, nearest to both (as drawn) is {}.", x,
                     said(*left), y, said(*low), said(*near));
}

// By the first two objectives, or by the first and the first field that varies.
Chart study_front(const StudyPoints& study) {
  Chart out;
  out.name = "front", out.kind = Chart::Kind::kPoints;
  if (study.objectives.empty()) return out;
  const Ranked *first = study.objectives[0], *second = study.objectives.size() > 1 ? study.objectives[1] : nullptr;
  const auto other = [&](const Node& point) -> const Node* {
    if (second) return at(point, second->field);
    for (const auto& [path, value] : config_of(point))
      if (value->is_number()) return value;
    return nullptr;
  };
  out.series = {second ? "no other point beats it" : "the best", "others"};
  double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
  std::vector<std::pair<double, double>> line;
  std::size_t all = 0;
  for (std::size_t i = 0; i < study.points->size(); ++i) {
    const Node& point = (*study.points)[i];
    const Node *figure = at(point, first->field), *beside = other(point);
    if (figure == nullptr || !figure->is_number() || beside == nullptr || !beside->is_number()) continue;
    ++all;
    ChartMark mark = second ? study_mark(point, i, figure, beside, study.objectives)
                            : study_mark(point, i, beside, figure, study.objectives);
    const bool chosen = study.front.count(i) > 0;
    mark.series = out.series[chosen ? 0 : 1];
    if (chosen) mark.label = config_text(point), line.emplace_back(mark.x, mark.y);
    least_x = std::min(least_x, mark.x), most_x = std::max(most_x, mark.x);
    least_y = std::min(least_y, mark.y), most_y = std::max(most_y, mark.y);
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.empty()) return out;
  // In units that suit.
  const auto scaled = [&](const Ranked& by, double most, double ChartMark::*member) {
    if (*by.unit == '\0') return std::string(by.title);
    const ChartUnit unit = unit_of(most, by.unit);
    for (ChartMark& mark : out.marks) mark.*member *= unit.factor;
    for (auto& point : line) (member == &ChartMark::x ? point.first : point.second) *= unit.factor;
    return fmt::format("{} ({})", by.title, unit.name);
  };
  // Those of the front are drawn last, above the others.
  std::stable_partition(out.marks.begin(), out.marks.end(), [](const ChartMark& mark) { return mark.label.empty(); });
  const auto config = config_of(study.points->front());
  const std::string field = config.empty() ? "" : config.front().first;
  out.x = {second ? scaled(*first, most_x, &ChartMark::x) : field, spreads(least_x, most_x)};
  out.y = {scaled(second ? *second : *first, most_y, &ChartMark::y), spreads(least_y, most_y)};
  if (second) out.lines.push_back(front_line(std::move(line), "front"));
  const std::string_view more_is_better = "utilization";  // of all others less is better
  if (second && first->objective != more_is_better && second->objective != more_is_better)
    out.note = points_that_matter(out, first->objective, second->objective);
  const Node& best = (*study.points)[study.in_order.empty() ? 0 : study.in_order.front()];
  out.title =
      second ? fmt::format("{} of {} points {} beaten by no other one; the best {} is at {}", study.in_order.size(),
                           all, study.in_order.size() == 1 ? "is" : "are", first->objective, config_text(best))
             : fmt::format("The best {} of {} points is at {}", first->objective, all, config_text(best));
  out.description = second ? fmt::format("Every point with figures by {} and {}.", first->title, second->title)
                           : fmt::format("Every point with figures: {} over {}.", first->title, field);
  return out;
}

Chart effects(const Node& result, const std::string& objective) {
  Chart out;
  out.name = "effects";
  for (const Node& effect : items_at(result, "effects")) {
    const Node* share = at(effect, "share");
    if (share == nullptr || !share->is_number()) continue;
    ChartMark mark;
    mark.place = text_at(effect, "path"), mark.x = 100 * share->number;
    mark.facts = {derived("field", mark.place), fact("share", share), fact("best", at(effect, "best"))};
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.empty()) return out;
  out.x.title = "share of the differences (%)";
  out.title = fmt::format("{} explains {} of the differences in {}", out.marks[0].place,
                          percent_of(out.marks[0].x, 100), objective);
  out.description = "How much of the variance of the objective's logarithm each field explains by itself.";
  return out;
}

}  // namespace

std::vector<Chart> sweep_charts(const Node& document) {
  const Node *result = at(document, "result"), *best = at(document, "result.best");
  if (result == nullptr || best == nullptr) return {};
  StudyPoints study{&items_at(*result, "points"), {}, {}, {}};
  for (const formats::json::Member& member : best->members)
    if (const Ranked* found = ranked(member.key)) study.objectives.push_back(found);
  for (const Node& place : items_at(*result, "pareto")) {
    study.front.insert(static_cast<std::size_t>(place.number));
    study.in_order.push_back(static_cast<std::size_t>(place.number));
  }
  if (study.in_order.empty() && !best->members.empty() && best->members[0].value.is_number()) {
    study.front.insert(static_cast<std::size_t>(best->members[0].value.number));
    study.in_order.push_back(static_cast<std::size_t>(best->members[0].value.number));
  }
  Chart front = study_front(study);
  const Node *finished = at(*result, "finished"), *stored = at(*result, "stored_before");
  if (finished && finished->kind == Node::Kind::kTruth && !finished->truth)
    front.note += std::string(front.note.empty() ? "" : " ") + "Not all points of the study are done" +
                  (stored && stored->number > 0 ? ": " + shown_text(*stored) + " were stored." : std::string("."));
  std::vector<StudyFigure> figures;
  for (const Ranked* by : study.objectives) figures.push_back({by->field, by->objective});
  return {front, study_parallel(*study.points, figures, study.front),
          effects(*result, study.objectives.empty() ? "" : study.objectives[0]->objective)};
}

std::vector<Chart> sparse_points_charts(const Node& document) {
  Chart out;
  out.name = "front", out.kind = Chart::Kind::kPoints;
  const bool design = kind_of(document) == "sparse_design";
  const char *x = design ? "area_um2" : "density", *y = design ? "seconds" : "utilization";
  out.x.title = design ? "area (\u00b5m\u00b2)" : "density";
  out.y.title = design ? "time (s)" : "utilisation of the array";
  out.series = {"on the front", "others"};
  std::size_t chosen = 0;
  for (const Node& point : items_at(document, "result.points")) {
    const Node *at_x = at(point, x), *at_y = at(point, y), *front = at(point, "pareto");
    if (at_x == nullptr || at_y == nullptr || !at_x->is_number() || !at_y->is_number()) continue;
    ChartMark mark;
    mark.x = at_x->number, mark.y = at_y->number;
    const bool on = front && front->truth;
    mark.series = out.series[on ? 0 : 1];
    chosen += on ? 1 : 0;
    for (const formats::json::Member& member : point.members)
      if (!member.value.is_object() && member.value.kind != Node::Kind::kList)
        mark.facts.push_back(fact(member.key, &member.value));
    if (on) mark.label = text_at(point, "array");
    out.marks.push_back(std::move(mark));
  }
  out.title = fmt::format("{} of {} points are on the front", chosen, out.marks.size());
  out.description = design ? "Accelerators by area and time; those on the front are beaten by none in time, energy, "
                             "area and error together."
                           : "Masks and arrays by density and utilisation; those on the front are beaten by none.";
  return {out};
}

}  // namespace orrery::verbs
