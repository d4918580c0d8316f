// Charts of `place` and `energy`.
#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

struct Configuration {
  const Node* node;
  std::string name;
};

std::vector<Configuration> configurations_of(const Node& document) {
  std::vector<Configuration> out;
  for (const Node& each : items_at(document, "result.configurations")) {
    const std::vector<Node>& kernels = items_at(each, "kernels");
    std::string name = fmt::format("{}", out.size());  // as `assignment` counts
    if (!kernels.empty()) name += ": " + kernels.front().text;
    if (kernels.size() > 1) name += fmt::format(" and {} more", kernels.size() - 1);
    out.push_back({&each, name});
  }
  return out;
}

// What each configuration asks of compute, memory and network, side by side: the slowest counts.
Chart latency(const std::vector<Configuration>& all) {
  Chart out;
  out.name = "latency", out.side_by_side = true;
  out.series = {"compute", "memory", "network"};
  double most = 0;
  std::vector<Share> bounds;
  for (const Configuration& each : all) {
    for (const std::string& series : out.series)
      most = std::max(most, number_at(*each.node, series + "_ns").value_or(0));
    add_share(bounds, text_at(*each.node, "bound"), number_at(*each.node, "ii_ns").value_or(0));
  }
  const ChartUnit unit = unit_of(most / 1e9, "s");
  out.x.title = fmt::format("time of a configuration ({})", unit.name);
  for (const Configuration& each : all)
    for (const std::string& series : out.series) {
      const Node* time = at(*each.node, series + "_ns");
      if (time == nullptr || !time->is_number()) continue;
      ChartMark mark;
      mark.place = each.name, mark.series = series, mark.x = time->number / 1e9 * unit.factor;
      mark.facts = {derived("configuration", each.name), derived("what", series), fact("time_ns", time),
                    fact("ii_ns", at(*each.node, "ii_ns")), fact("bound", at(*each.node, "bound"))};
      out.marks.push_back(std::move(mark));
    }
  if (bounds.empty()) return out;
  const Share& largest = largest_of(bounds);
  out.title = fmt::format("{} bounds {} of the time of {} configurations", largest.name,
                          percent_of(largest.amount, total_of(bounds)), all.size());
  out.description =
      "Time that each configuration asks of compute units, memory and network; they overlap, and the "
      "longest one counts.";
  return out;
}

// The share of each configuration's time in which compute units, memory and network are at work.
Chart utilisation(const std::vector<Configuration>& all) {
  Chart out;
  out.name = "utilisation", out.side_by_side = true;
  out.x.title = "share of the configuration's time at work (%)";
  out.series = {"compute", "memory", "network"};
  std::vector<Share> busy;
  double time = 0;
  for (const Configuration& each : all) {
    const Node* whole = at(*each.node, "ii_ns");
    if (whole == nullptr || !whole->is_number() || whole->number <= 0) continue;
    time += whole->number;
    for (const std::string& series : out.series) {
      const Node* part = at(*each.node, series + "_ns");
      if (part == nullptr || !part->is_number()) continue;
      ChartMark mark;
      mark.place = each.name, mark.series = series, mark.x = 100 * part->number / whole->number;
      mark.facts = {derived("configuration", each.name), derived("what", series), fact("time_ns", part),
                    fact("ii_ns", whole), derived("share", percent_of(part->number, whole->number))};
      add_share(busy, series, part->number);
      out.marks.push_back(std::move(mark));
    }
  }
  std::string shares;
  for (const Share& one : busy)
    shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", one.name, percent_of(one.amount, time));
  out.title = "At work over all configurations: " + shares;
  out.description = "How much of each configuration's time its compute units, memory and network are at work.";
  return out;
}

Chart memory(const std::vector<Configuration>& all) {
  Chart out;
  out.name = "sram";
  double most = 0;
  std::string largest;
  for (const Configuration& each : all)
    if (const double bytes = number_at(*each.node, "sram_bytes").value_or(0); bytes > most)
      most = bytes, largest = each.name;
  const ChartUnit unit = unit_of(most, "B");
  for (const Configuration& each : all) {
    const Node* bytes = at(*each.node, "sram_bytes");
    if (bytes == nullptr || !bytes->is_number()) continue;
    ChartMark mark;
    mark.place = each.name, mark.x = bytes->number * unit.factor;
    mark.facts = {derived("configuration", each.name), fact("sram_bytes", bytes),
                  fact("dram_bytes", at(*each.node, "dram_bytes")),
                  fact("tiling_factor", at(*each.node, "tiling_factor"))};
    out.marks.push_back(std::move(mark));
  }
  out.x.title = fmt::format("SRAM ({})", unit.name);
  out.title = fmt::format("Configuration {} takes the most SRAM: {:.3g} {}", largest.substr(0, largest.find(':')),
                          most * unit.factor, unit.name);
  out.description = "SRAM that each configuration takes.";
  return out;
}

Chart costs(const Node& document, const char* key, const char* name, const char* axis, const char* unit) {
  const Node* parts = at(document, std::string("result.") + key);
  if (parts == nullptr || !parts->is_object()) return {};
  Chart out = bars_of(*parts, name, axis, unit);
  if (out.marks.empty()) return out;
  out.title = fmt::format("{} takes {} of the system's {}", out.marks[0].place, out.marks[0].facts.back().shown, axis);
  out.description = fmt::format("The system's {} by part.", axis);
  return out;
}

}  // namespace

std::vector<Chart> place_charts(const Node& document) {
  const std::vector<Configuration> all = configurations_of(document);
  if (all.empty()) return {};
  return {latency(all), utilisation(all), memory(all), costs(document, "cost_usd", "cost", "cost", "dollars"),
          costs(document, "power_w", "power", "power", "W")};
}

std::vector<Chart> energy_charts(const Node& document) {
  Chart area, actions;
  area.name = "area", actions.name = "energy";
  std::vector<Share> areas, energies;
  double most = 0;
  for (const Node& component : items_at(document, "result.components")) {
    const double all = number_at(component, "area_um2").value_or(0) * number_at(component, "count").value_or(1);
    add_share(areas, text_at(component, "name"), all);
    for (const Node& action : items_at(component, "actions"))
      most = std::max(most, number_at(action, "energy_pj").value_or(0));
  }
  if (areas.empty()) return {};
  const ChartUnit unit = unit_of(largest_of(areas).amount, "um^2"), energy_unit = unit_of(most, "pJ");
  actions.side_by_side = true;
  for (const Node& component : items_at(document, "result.components")) {
    const std::string name = text_at(component, "name");
    if (const Node* one = at(component, "area_um2"); one && one->is_number() && one->number > 0) {
      ChartMark mark;
      mark.place = name, mark.x = one->number * number_at(component, "count").value_or(1) * unit.factor;
      mark.facts = {derived("component", name), fact("count", at(component, "count")), fact("area_um2 of one", one),
                    derived("share", percent_of(mark.x / unit.factor, total_of(areas))),
                    fact("area_source", at(component, "area_source"))};
      area.marks.push_back(std::move(mark));
    }
    std::vector<std::string> seen;  // an action may have several values of its arguments: the first is drawn
    for (const Node& action : items_at(component, "actions")) {
      const Node* energy = at(action, "energy_pj");
      const std::string what = text_at(action, "name");
      if (energy == nullptr || !energy->is_number() || energy->number <= 0 || what == "leak" ||
          std::find(seen.begin(), seen.end(), what) != seen.end())
        continue;
      seen.push_back(what);
      add_share(energies, what, energy->number);
      ChartMark mark;
      mark.place = name, mark.series = what, mark.x = energy->number * energy_unit.factor;
      mark.facts = {derived("component", name), derived("action", what), fact("energy_pj", energy),
                    fact("source", at(action, "source")),
                    fact("expected_error_percent", at(action, "expected_error_percent"))};
      actions.marks.push_back(std::move(mark));
    }
  }
  for (const Share& one : energies) actions.series.push_back(one.name);
  area.x.title = fmt::format("area of all instances ({})", unit.name);
  area.title = fmt::format("{} takes {} of the area", largest_of(areas).name,
                           percent_of(largest_of(areas).amount, total_of(areas)));
  area.description = "Area of all instances of each component.";
  actions.x.title = fmt::format("energy of one action ({})", energy_unit.name);
  const auto dearest = std::max_element(actions.marks.begin(), actions.marks.end(),
                                        [](const ChartMark& a, const ChartMark& b) { return a.x < b.x; });
  if (dearest != actions.marks.end())
    actions.title = fmt::format("A {} of {} costs the most: {:.4g} {}", dearest->series, dearest->place, dearest->x,
                                energy_unit.name);
  actions.description = "Energy of one action of one instance, leakage aside.";
  return {area, actions};
}

}  // namespace orrery::verbs
