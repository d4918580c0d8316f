#include "orrery/present/charts/study_parallel.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

void flatten_config(const Node& config, const std::string& prefix,
                    std::vector<std::pair<std::string, const Node*>>& out) {
  for (const formats::json::Member& member : config.members) {
    const std::string path = prefix.empty() ? member.key : prefix + "." + member.key;
    if (member.value.is_object())
      flatten_config(member.value, path, out);
    else
      out.emplace_back(path, &member.value);
  }
}

// Where values lie on an axis: numbers between the least and the most, texts side by side as they appear.
class Coordinate {
 public:
  void take(const Node* value) {
    if (value == nullptr || value->is_null()) return;
    if (!value->is_number())
      places_.emplace(shown_text(*value), places_.size());
    else if (!any_)
      least_ = most_ = value->number, any_ = true;
    else
      least_ = std::min(least_, value->number), most_ = std::max(most_, value->number);
  }
  bool varies() const { return places_.empty() ? any_ && most_ > least_ : places_.size() > 1; }
  // Nothing where a point has no such value.
  std::optional<double> share(const Node* value) const {
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->is_number()) {
      const auto found = places_.find(shown_text(*value));
      return found == places_.end() ? std::nullopt
                                    : std::optional(static_cast<double>(found->second) /
                                                    static_cast<double>(std::max<std::size_t>(1, places_.size() - 1)));
    }
    if (!places_.empty()) return std::nullopt;
    if (spreads(least_, most_)) return std::log(value->number / least_) / std::log(most_ / least_);
    return (value->number - least_) / (most_ - least_);
  }
  // "65536", "11.35M"
  static std::string end(double value) {
    return std::fabs(value) < 1e5 ? shown_number(value) : ChartScale{0, value}.text(std::round(value / 1e3) * 1e3);
  }
  bool numbers() const { return places_.empty(); }
  ParallelAxis axis(const std::string& title) const {
    if (places_.empty()) return {title, end(least_), end(most_)};
    ParallelAxis out{title, "", ""};
    for (const auto& [text, place] : places_) {
      if (place == 0) out.low = text;
      if (place + 1 == places_.size()) out.high = text;
    }
    return out;
  }

 private:
  bool any_ = false;
  double least_ = 0, most_ = 0;
  std::map<std::string, std::size_t> places_;
};

struct CoordinateOf {
  std::string path, title;
  bool field = false;
  Coordinate values;
};

const Node* value_of(const Node& point, const CoordinateOf& one) {
  if (!one.field) return at(point, one.path);
  for (const auto& [path, value] : config_of(point))
    if (path == one.path) return value;
  return nullptr;
}

// What the front's points have in common: the field of which they take the smallest part.
std::string finding(const std::vector<Node>& points, const std::vector<CoordinateOf>& all,
                    const std::set<std::size_t>& front) {
  std::string out = fmt::format("{} points over {} fields and figures", points.size(), all.size());
  double smallest = 1;
  for (const CoordinateOf& one : all) {
    if (!one.field || !one.values.numbers()) continue;
    const Node *least = nullptr, *most = nullptr;
    for (const std::size_t i : front) {
      const Node* value = i < points.size() ? value_of(points[i], one) : nullptr;
      if (value == nullptr || !value->is_number()) continue;
      if (least == nullptr || value->number < least->number) least = value;
      if (most == nullptr || value->number > most->number) most = value;
    }
    const auto from = one.values.share(least), to = one.values.share(most);
    if (!from || !to || *to - *from >= smallest) continue;
    smallest = *to - *from;
    const ParallelAxis axis = one.values.axis(one.title);
    out = least->number == most->number ? fmt::format("All points of the front have {} {}, of {} to {}", one.title,
                                                      shown_text(*least), axis.low, axis.high)
                                        : fmt::format("The front has {} from {} to {}, of {} to {}", one.title,
                                                      shown_text(*least), shown_text(*most), axis.low, axis.high);
  }
  return out;
}

// Places of the points that are drawn, those of the front last.
std::vector<std::size_t> drawn_points(std::size_t all, const std::set<std::size_t>& front) {
  constexpr std::size_t kMostLines = 300;
  const std::size_t chosen = std::min(front.size(), kMostLines / 2);
  const std::size_t every = (all - std::min(all, chosen)) / (kMostLines - chosen) + 1;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < all; i += every)
    if (front.count(i) == 0) out.push_back(i);
  std::size_t taken = 0;
  for (const std::size_t i : front)
    if (i < all && taken++ < chosen) out.push_back(i);
  return out;
}

}  // namespace

std::string last_part(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::size_t before = dot == std::string::npos ? dot : path.rfind('.', dot - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}

std::vector<std::pair<std::string, const Node*>> config_of(const Node& point) {
  std::vector<std::pair<std::string, const Node*>> out;
  if (const Node* config = at(point, "config")) flatten_config(*config, "", out);
  return out;
}

bool spreads(double least, double most) {
  return least > 0 && most / least > 20;
}

Chart study_parallel(const std::vector<Node>& points, const std::vector<StudyFigure>& figures,
                     const std::set<std::size_t>& front) {
  constexpr std::size_t kMostFields = 7;
  Chart out;
  out.name = "parallel", out.kind = Chart::Kind::kParallel;
  if (points.size() < 3) return out;
  std::vector<CoordinateOf> all;
  for (const auto& [path, value] : config_of(points.front())) all.push_back({path, last_part(path), true, {}});
  for (const StudyFigure& figure : figures) all.push_back({figure.key, figure.title, false, {}});
  for (const Node& point : points)
    for (CoordinateOf& one : all) one.values.take(value_of(point, one));
  std::erase_if(all, [](const CoordinateOf& one) { return !one.values.varies(); });
  std::size_t fields = 0, left_out = 0;
  std::erase_if(all, [&](const CoordinateOf& one) {
    const bool more = one.field && ++fields > kMostFields;
    left_out += more ? 1 : 0;
    return more;
  });
  if (all.size() < 3) return out;
  for (const CoordinateOf& one : all) out.axes.push_back(one.values.axis(one.title));
  out.series = {"on the front", "others"};
  std::size_t whole = 0;
  for (const std::size_t i : drawn_points(points.size(), front)) {
    ChartMark mark;
    mark.series = out.series[front.count(i) > 0 ? 0 : 1];
    mark.facts = {derived("point", fmt::format("{}", i))};
    for (const CoordinateOf& one : all) {
      const Node* value = value_of(points[i], one);
      const std::optional<double> share = one.values.share(value);
      if (!share || !std::isfinite(*share)) break;
      mark.shares.push_back(*share);
      mark.facts.push_back(fact(one.path, value));
    }
    if (mark.shares.size() < all.size()) continue;  // it failed
    ++whole;
    out.marks.push_back(std::move(mark));
  }
  out.title = finding(points, all, front);
  out.description =
      "Parallel coordinates: a line a point, an axis a field that varies or a figure, from its least to its most "
      "value.";
  if (whole < points.size())
    out.note =
        fmt::format("{} of {} points are drawn, those of the front first. The document has all.", whole, points.size());
  if (left_out > 0) out.note += fmt::format(" {} more fields vary.", left_out);
  return out;
}

}  // namespace orrery::verbs
