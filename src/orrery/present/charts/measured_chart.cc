// Charts of what is measured or simulated: `tune run`, `tune select`, `tune ledger`, `sparse mask`, `sparse measure`,
// `sparse simulate` and `sparse break-even`.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

std::string pass_name(const Node& op) {
  const std::string pass = text_at(op, "pass");
  return text_at(op, "name") + (pass.empty() || pass == "forward" ? "" : " (" + pass + ")");
}

Chart operator_times(const Node& document) {
  Chart out;
  out.name = "time";
  out.x.title = "time (ms)";
  std::vector<Share> times, bounds;
  for (const Node& op : items_at(document, "result.operators")) {
    const Node* time = at(op, "ms");
    if (time == nullptr || !time->is_number()) continue;
    ChartMark mark;
    mark.place = pass_name(op), mark.series = text_at(op, "bound"), mark.x = time->number;
    mark.facts = {derived("operator", mark.place),  fact("ms", time),
                  fact("gflops", at(op, "gflops")), fact("gbytes_per_s", at(op, "gbytes_per_s")),
                  fact("bound", at(op, "bound")),   fact("peak_fraction", at(op, "peak_fraction"))};
    add_share(times, mark.place, time->number), add_share(bounds, mark.series, 1);
    out.marks.push_back(std::move(mark));
  }
  if (times.empty()) return out;
  for (const Share& bound : bounds) out.series.push_back(bound.name);
  const Share& most = largest_of(times);
  out.title = fmt::format("{} takes {} of the layer's time", most.name, percent_of(most.amount, total_of(times)));
  out.description = "Measured time of each operator, coloured by what bounds it.";
  return out;
}

Chart operator_roofline(const Node& document) {
  Chart out;
  out.name = "roofline", out.kind = Chart::Kind::kPoints;
  out.x = {"FLOP a byte", true}, out.y = {"GFLOP/s", true};
  const double peak = number_at(document, "result.peaks.fp32_gflops").value_or(0);
  const double bandwidth = number_at(document, "result.peaks.memory_gbytes_per_s").value_or(0);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  const ChartMark* best = nullptr;
  std::vector<Share> bounds;
  const std::vector<Node>& operators = items_at(document, "result.operators");
  out.marks.reserve(operators.size());
  for (const Node& op : operators) {
    const double rate = number_at(op, "gflops").value_or(0), bytes = number_at(op, "gbytes_per_s").value_or(0);
    if (rate <= 0 || bytes <= 0) continue;
    ChartMark mark;
    mark.x = rate / bytes, mark.y = rate, mark.label = pass_name(op), mark.series = text_at(op, "bound");
    mark.facts = {derived("operator", mark.label), derived("FLOP a byte", shown_number(mark.x)),
                  fact("gflops", at(op, "gflops")), fact("gbytes_per_s", at(op, "gbytes_per_s")),
                  fact("peak_fraction", at(op, "peak_fraction"))};
    add_share(bounds, mark.series, 1);
    least = std::min(least, mark.x), most = std::max(most, mark.x);
    out.marks.push_back(std::move(mark));
    if (best == nullptr || rate > best->y) best = &out.marks.back();
  }
  if (best == nullptr) return out;
  for (const Share& bound : bounds) out.series.push_back(bound.name);
  if (peak > 0) out.lines.push_back(roof_line("this machine, measured", peak, bandwidth, least / 3, most * 3));
  out.title = peak > 0 ? fmt::format("The fastest operator, {}, reaches {} of the machine's peak", best->label,
                                     percent_of(best->y, peak))
                       : fmt::format("The fastest operator is {}", best->label);
  out.description =
      "Roofline of this machine: a point an operator; the line is what its arithmetic and its memory "
      "allow, as measured in the same run.";
  return out;
}

}  // namespace

std::vector<Chart> tune_run_charts(const Node& document) {
  return {operator_times(document), operator_roofline(document)};
}

// The layouts that were chosen, from measured times.
std::vector<Chart> tune_select_charts(const Node& document) {
  const Node* times = at(document, "result.per_operator");
  if (times == nullptr || !times->is_object()) return {};
  Chart out = bars_of(*times, "time", "time", "ms");
  if (out.marks.empty()) return {};
  out.title =
      fmt::format("{} takes {} of the layer's time", out.marks.front().place, out.marks.front().facts.back().shown);
  out.description = "Measured time of each operator in the layouts that were chosen, the largest first.";
  const auto time = number_at(document, "result.time_ms"),
             bound = number_at(document, "result.lower_bound_without_layouts_ms");
  if (time && bound && *bound > 0)
    out.note = fmt::format("Together {:.4g} ms: {:.3g} % more than if each operator ran in its best layout.", *time,
                           100 * (*time / *bound - 1));
  return {out};
}

std::vector<Chart> tune_ledger_charts(const Node& document) {
  Chart out;
  out.name = "roofline", out.kind = Chart::Kind::kPoints;
  out.x = {"FLOP a byte", true}, out.y = {"GFLOP/s, modelled", true};
  const double peak = number_at(document, "result.machine.peak_gflops").value_or(0);
  const double bandwidth = number_at(document, "result.machine.gbytes_per_s").value_or(0);
  double least = std::numeric_limits<double>::infinity(), most = 0, bound = 0, all = 0;
  std::vector<Share> classes;
  for (const Node& op : items_at(document, "result.operators")) {
    const auto flop = number_at(op, "flop"), seconds = number_at(op, "modelled_s"),
               per = number_at(op, "flop_per_byte");
    if (!flop || !seconds || !per || *seconds <= 0 || *flop <= 0 || *per <= 0) continue;
    ChartMark mark;
    mark.x = *per, mark.y = *flop / *seconds / 1e9, mark.series = text_at(op, "class"), mark.label = pass_name(op);
    mark.facts = {derived("operator", mark.label),
                  fact("flop", at(op, "flop")),
                  fact("flop_per_byte", at(op, "flop_per_byte")),
                  fact("modelled_s", at(op, "modelled_s")),
                  fact("peak_percent", at(op, "peak_percent")),
                  fact("memory_bound", at(op, "memory_bound"))};
    add_share(classes, mark.series, 1);
    const Node* waits = at(op, "memory_bound");
    all += *seconds, bound += waits && waits->truth ? *seconds : 0;
    least = std::min(least, *per), most = std::max(most, *per);
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.empty()) return {};
  for (const Share& one : classes) out.series.push_back(one.name);
  if (peak > 0)
    out.lines.push_back(roof_line(text_at(document, "result.machine.name"), peak, bandwidth, least / 3, most * 3));
  out.title = fmt::format("Operators bound by memory take {} of the modelled time", percent_of(bound, all));
  out.description =
      "Roofline: a point an operator of the layer; the line is what the machine's arithmetic and memory allow.";
  return {out};
}

namespace {

// How dense each head is; nothing to see of one.
Chart density_by_head(const Node& document) {
  Chart out;
  out.name = "heads", out.x.title = "kept pairs (%)";
  std::vector<Share> kept;
  for (const Node& head : items_at(document, "result.by_head")) {
    const Node* density = at(head, "density");
    if (density == nullptr || !density->is_number()) continue;
    ChartMark mark;
    mark.place = fmt::format("head {}", shown_text(head.members.front().value));
    mark.x = 100 * density->number;
    for (const formats::json::Member& figure : head.members) mark.facts.push_back(fact(figure.key, &figure.value));
    kept.push_back({mark.place, mark.x});
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.size() < 2) return {};
  const auto [least, most] = std::minmax_element(
      kept.begin(), kept.end(), [](const Share& one, const Share& other) { return one.amount < other.amount; });
  out.title = least->amount == most->amount
                  ? fmt::format("Every head keeps {} of its pairs", percent_of(most->amount, 100))
                  : fmt::format("{} keeps most, {} of its pairs; {} least, {}", most->name,
                                percent_of(most->amount, 100), least->name, percent_of(least->amount, 100));
  out.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out.title[0])));
  out.description = "Kept pairs over pairs of existing tokens, by head, over all sequences and masks.";
  return out;
}

}  // namespace

std::vector<Chart> sparse_mask_charts(const Node& document) {
  Chart out;
  out.name = "balance";
  const Node *balances = at(document, "result.load_balance"), *density = at(document, "result.density");
  if (balances == nullptr || !balances->is_object()) return {};
  std::vector<Share> used;
  for (const formats::json::Member& scheme : balances->members) {
    if (!scheme.value.is_number()) continue;
    ChartMark mark;
    mark.place = scheme.key, mark.x = 100 * scheme.value.number;
    mark.facts = {derived("packing", scheme.key), fact("load_balance", &scheme.value)};
    add_share(used, scheme.key, mark.x);
    out.marks.push_back(std::move(mark));
  }
  if (used.empty()) return {};
  const Share& most = largest_of(used);
  out.x.title = "utilisation of the array (%)";
  out.title = fmt::format("{} uses {} of the array", most.name, percent_of(most.amount, 100));
  if (density && density->is_number())
    out.title = fmt::format("{} of the pairs are kept; ", percent_of(density->number, 1)) + out.title;
  out.description = "How evenly the kept pairs fill the array under each packing.";
  return {density_by_head(document), out};
}

std::vector<Chart> sparse_measure_charts(const Node& document) {
  Chart density, packing;
  density.name = "density", packing.name = "packing", packing.side_by_side = true;
  const Node *thinnest = nullptr, *fullest = nullptr;
  for (const Node& mask : items_at(document, "result.masks")) {
    const Node* value = at(mask, "density");
    if (value == nullptr || !value->is_number()) continue;
    ChartMark mark;
    mark.place =
        text_at(mask, "name").empty() ? fmt::format("mask {}", density.marks.size() + 1) : text_at(mask, "name");
    mark.x = 100 * value->number;
    mark.facts = {derived("mask", mark.place), fact("density", value), fact("kept", at(mask, "kept")),
                  fact("pairs", at(mask, "pairs"))};
    if (thinnest == nullptr || value->number < thinnest->number) thinnest = value;
    if (fullest == nullptr || value->number > fullest->number) fullest = value;
    density.marks.push_back(std::move(mark));
  }
  density.x.title = "kept pairs (%)";
  if (thinnest)
    density.title = density.marks.size() == 1 ? fmt::format("{:.3g} % of the pairs are kept", 100 * thinnest->number)
                                              : fmt::format("From {:.3g} to {:.3g} % of the pairs are kept",
                                                            100 * thinnest->number, 100 * fullest->number);
  density.description = "Kept pairs over pairs of existing tokens, by mask.";
  packing.series = {"reached", "bound"};
  packing.x.title = "utilisation of the array (%)";
  std::string best;
  double most = -1;
  if (const Node* schemes = at(document, "result.packing"))
    for (const formats::json::Member& scheme : schemes->members)
      for (const auto& [key, series] : {std::pair{"utilization", "reached"}, std::pair{"bound", "bound"}}) {
        const Node* value = at(scheme.value, key);
        if (value == nullptr || !value->is_number()) continue;
        if (value->number > most && std::string_view(key) == "utilization") most = value->number, best = scheme.key;
        ChartMark mark;
        mark.place = scheme.key, mark.series = series, mark.x = 100 * value->number;
        mark.facts = {derived("packing", scheme.key), fact(key, value), fact("counts", at(scheme.value, "counts")),
                      fact("blocks", at(scheme.value, "blocks"))};
        packing.marks.push_back(std::move(mark));
      }
  packing.title = fmt::format("{} uses the most of the array: {:.3g} %", best, 100 * most);
  packing.description = "Utilisation of the array by packing scheme, beside the bound that is proven for it.";
  Chart heads = density_by_head(document);
  if (density.marks.size() == 1 && !heads.marks.empty()) return {heads, packing};
  return {density, heads, packing};
}

std::vector<Chart> sparse_simulate_charts(const Node& document) {
  std::vector<Chart> out;
  const auto add = [&](const char* path, const char* name, const char* axis, const char* unit, const char* what) {
    const Node* parts = at(document, path);
    if (parts == nullptr || !parts->is_object()) return;
    Chart chart = bars_of(*parts, name, axis, unit);
    if (chart.marks.empty()) return;
    chart.title = fmt::format("{} takes {} of the {}", chart.marks[0].place, chart.marks[0].facts.back().shown, what);
    chart.description = fmt::format("The {} by part, the largest first.", what);
    out.push_back(std::move(chart));
  };
  add("result.phases", "phases", "time of the array", "cycles", "array's cycles");
  add("result.stalls", "stalls", "waiting", "cycles", "waiting");
  add("result.traffic", "traffic", "data", "B", "DRAM traffic");
  return out;
}

std::vector<Chart> break_even_charts(const Node& document) {
  Chart out;
  out.name = "speedup", out.kind = Chart::Kind::kPoints;
  out.x = {"density", true}, out.y = {"times as fast as dense attention", true};
  std::vector<Share> series;
  std::size_t pays = 0;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Node& point : items_at(document, "result.points")) {
    const Node *density = at(point, "density"), *speedup = at(point, "speedup");
    if (density == nullptr || speedup == nullptr || !density->is_number() || !speedup->is_number()) continue;
    ChartMark mark;
    mark.x = density->number, mark.y = speedup->number;
    mark.series =
        fmt::format("{}, {} tokens", text_at(point, "structure"), shown_number(number_at(point, "tokens").value_or(0)));
    mark.facts = {derived("mask", mark.series),
                  fact("density", density),
                  fact("speedup", speedup),
                  fact("dense_ms", at(point, "dense_ms")),
                  fact("sparse_ms", at(point, "sparse_ms")),
                  fact("pays", at(point, "pays"))};
    add_share(series, mark.series, 1);
    pays += speedup->number > 1 ? 1 : 0;
    least = std::min(least, mark.x), most = std::max(most, mark.x);
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.empty()) return {};
  for (const Share& one : series) {
    out.series.push_back(one.name);
    std::vector<std::pair<double, double>> line;
    for (const ChartMark& mark : out.marks)
      if (mark.series == one.name) line.emplace_back(mark.x, mark.y);
    out.lines.push_back(front_line(std::move(line), one.name));
  }
  out.lines.push_back({"as fast as dense attention", {{least, 1}, {most, 1}}, true});
  out.title = fmt::format("Pruned attention is faster than dense at {} of {} points", pays, out.marks.size());
  out.description =
      "Measured speed of pruned over dense attention by density, a line a structure and length; above the "
      "dashed line it pays.";
  return {out};
}

}  // namespace orrery::verbs
