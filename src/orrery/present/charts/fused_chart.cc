// Charts of `map --fuse`. Its figures are in the units of the files.
#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

// Reads and writes by storage and tensor, then what computes and what leaks.
Chart block_energy(const Node& result) {
  Chart out;
  out.name = "energy";
  std::vector<Share> places, tensors;
  const auto add = [&](const std::string& place, const std::string& tensor, const Node* energy) {
    if (energy == nullptr || !energy->is_number() || energy->number <= 0) return;
    add_share(places, place, energy->number), add_share(tensors, tensor, energy->number);
    ChartMark mark;
    mark.place = place, mark.series = tensor, mark.x = energy->number;
    mark.facts = {derived("part", place), derived("tensor", tensor), fact("energy", energy)};
    out.marks.push_back(std::move(mark));
  };
  for (const Node& storage : items_at(result, "storages"))
    for (const Node& one : items_at(result, "traffic"))
      if (text_at(one, "storage") == text_at(storage, "name"))
        add(text_at(one, "storage"), text_at(one, "tensor"), at(one, "energy"));
  add("units", "operations", at(result, "compute_energy"));
  add("leakage", "leakage", at(result, "leakage_energy"));
  if (places.empty()) return out;
  const double total = total_of(places);
  for (ChartMark& mark : out.marks) mark.facts.push_back(derived("share", percent_of(mark.x, total)));
  for (const Share& tensor : tensors) out.series.push_back(tensor.name);
  const Share& most = largest_of(places);
  out.x.title = "energy (in the unit of the files)";
  out.title = fmt::format("{} takes {} of the energy", most.name, percent_of(most.amount, total));
  out.description = "Energy of the block by storage and tensor, outermost first, and of the units.";
  return out;
}

// What fusion saves, in energy and in time: the best without it is 100 %.
Chart block_saving(const Node& result) {
  Chart out;
  out.name = "fusion";
  const Node *fused = at(result, "fused"), *unfused = at(result, "unfused");
  if (fused == nullptr || !fused->is_object() || unfused == nullptr || !unfused->is_object()) return out;
  std::string said;
  for (const char* key : {"energy", "latency"}) {
    const Node *now = at(*fused, key), *before = at(*unfused, key);
    if (now == nullptr || !now->is_number() || before == nullptr || !before->is_number() || before->number <= 0)
      continue;
    ChartMark mark;
    mark.place = key, mark.x = 100 * now->number / before->number;
    mark.facts = {derived("figure", key), fact("fused", now), fact("unfused", before),
                  derived("share", fmt::format("{:.4g} %", mark.x))};
    said += fmt::format("{}{:.3g} % of the {}", said.empty() ? "" : " and ", mark.x, key);
    out.marks.push_back(std::move(mark));
  }
  out.limit = {100, "without fusion"};
  out.x.title = "share of the best without fusion (%)";
  out.title = "Fused, the block takes " + said;
  out.description =
      "Energy and latency of the best tree, over those of the best where einsums hand everything on in the outermost "
      "storage.";
  return out;
}

Chart block_capacity(const Node& result) {
  Chart out;
  out.name = "capacity";
  std::vector<Share> full;
  for (const Node& use : items_at(result, "capacity")) {
    const Node *bits = at(use, "bits"), *most = at(use, "capacity_bits");
    if (bits == nullptr || !bits->is_number() || most == nullptr || !most->is_number() || most->number <= 0) continue;
    ChartMark mark;
    mark.place = text_at(use, "storage"), mark.x = 100 * bits->number / most->number;
    mark.facts = {derived("storage", mark.place), fact("bits", bits), fact("capacity_bits", most),
                  fact("first", at(use, "first")), fact("last", at(use, "last"))};
    add_share(full, mark.place, mark.x);
    out.marks.push_back(std::move(mark));
  }
  if (full.empty()) return out;
  const Share& most = largest_of(full);
  out.limit = {100, "capacity"};
  out.x.title = "share of the capacity (%)";
  out.title = fmt::format("{} is filled to {}", most.name, percent_of(most.amount, 100));
  out.description = "Most that an instance of each storage holds at once, over what it can hold.";
  return out;
}

Chart block_einsums(const Node& result) {
  Chart out;
  out.name = "einsums";
  std::vector<Share> times, bounds;
  const std::vector<Node>& einsums = items_at(result, "einsums");
  for (const Node& one : einsums) {
    const Node* latency = at(one, "latency");
    if (latency == nullptr || !latency->is_number()) continue;
    ChartMark mark;
    mark.place = text_at(one, "name"), mark.series = "bound by " + text_at(one, "bound_by"), mark.x = latency->number;
    mark.facts = {derived("einsum", mark.place), fact("unit", at(one, "unit")), fact("latency", latency),
                  fact("energy", at(one, "energy")), fact("bound_by", at(one, "bound_by"))};
    add_share(times, mark.place, mark.x), add_share(bounds, mark.series, mark.x);
    out.marks.push_back(std::move(mark));
  }
  if (times.empty()) return out;
  for (const Share& bound : bounds) out.series.push_back(bound.name);
  const Share &most = largest_of(times), &usual = largest_of(bounds);
  out.x.title = "latency (in the unit of the files)";
  out.title =
      fmt::format("{} takes {} of the time; {} of it is {}", most.name, percent_of(most.amount, total_of(times)),
                  percent_of(usual.amount, total_of(bounds)), usual.name);
  out.description = "Latency of each einsum in the order in which they run, coloured by what it waits for.";
  return out;
}

// Trees that no other one beats.
Chart block_front(const Node& result) {
  Chart out;
  out.name = "front", out.kind = Chart::Kind::kPoints;
  std::vector<std::pair<double, double>> line;
  for (const Node& point : items_at(result, "pareto")) {
    const Node *energy = at(point, "energy"), *latency = at(point, "latency");
    if (energy == nullptr || !energy->is_number() || latency == nullptr || !latency->is_number()) continue;
    ChartMark mark;
    mark.x = energy->number, mark.y = latency->number;
    mark.facts = {derived("tree", fmt::format("{}", out.marks.size())), fact("energy", energy),
                  fact("latency", latency)};
    line.emplace_back(mark.x, mark.y);
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.empty()) return out;
  out.lines.push_back(front_line(std::move(line), "front"));
  out.x.title = "energy (in the unit of the files)", out.y.title = "latency (in the unit of the files)";
  out.title = out.marks.size() == 1 ? "One tree is the best in energy and in time"
                                    : fmt::format("{} trees that no other one beats", out.marks.size());
  out.description = "Loop trees of the block by energy and latency.";
  return out;
}

}  // namespace

std::vector<Chart> map_fuse_charts(const Node& document) {
  const Node* result = at(document, "result");
  if (result == nullptr) return {};
  return {block_energy(*result), block_saving(*result), block_einsums(*result), block_capacity(*result),
          block_front(*result)};
}

}  // namespace orrery::verbs
