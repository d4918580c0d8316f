#include "orrery/present/chart/chart_parts.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery::verbs {

void add_share(std::vector<Share>& shares, const std::string& name, double amount) {
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const Share& one) { return one.name == name; });
  if (found == shares.end())
    shares.push_back({name, amount});
  else
    found->amount += amount;
}

double total_of(const std::vector<Share>& shares) {
  double out = 0;
  for (const Share& one : shares) out += one.amount;
  return out;
}

const Share& largest_of(const std::vector<Share>& shares) {
  return *std::max_element(shares.begin(), shares.end(),
                           [](const Share& one, const Share& other) { return one.amount < other.amount; });
}

Chart bars_of(const Node& object, std::string name, const std::string& axis, const char* unit) {
  Chart out;
  out.name = std::move(name);
  std::vector<std::pair<std::string, const Node*>> rows;
  double total = 0, most = 0;
  for (const formats::json::Member& member : object.members) {
    if (!member.value.is_number() || member.value.number <= 0 || member.key == "total") continue;
    rows.emplace_back(member.key, &member.value);
    total += member.value.number, most = std::max(most, member.value.number);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& one, const auto& other) { return one.second->number > other.second->number; });
  const ChartUnit shown = unit_of(most, unit);
  out.x.title = fmt::format("{} ({})", axis, shown.name);
  for (const auto& [key, value] : rows) {
    ChartMark mark;
    mark.place = key;
    mark.x = value->number * shown.factor;
    mark.facts = {derived("what", key), fact(fmt::format("{} ({})", axis, unit), value),
                  derived("share", percent_of(value->number, total))};
    out.marks.push_back(std::move(mark));
  }
  return out;
}

ChartLine front_line(std::vector<std::pair<double, double>> points, const std::string& name) {
  std::sort(points.begin(), points.end());
  return {name, std::move(points), false};
}

ChartLine roof_line(const std::string& name, double peak, double bandwidth, double least, double most) {
  ChartLine out{name, {}, false};
  const double knee = bandwidth > 0 ? peak / bandwidth : least;
  if (bandwidth > 0 && knee > least) out.points.emplace_back(least, bandwidth * least);
  if (bandwidth > 0 && knee > least && knee < most) out.points.emplace_back(knee, peak);
  if (!(knee < most)) {
    out.points.emplace_back(most, bandwidth * most);
    return out;
  }
  if (out.points.empty()) out.points.emplace_back(least, peak);
  out.points.emplace_back(most, peak);
  return out;
}

}  // namespace orrery::verbs
