// Charts of `serve`.
#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

std::string deployment_text(const Node& plan) {
  std::string out = shown_number(number_at(plan, "replicas").value_or(1)) + " x";
  for (const char* degree : {"tp", "pp", "dp", "ep"})
    if (const auto ways = number_at(plan, degree); ways && (*ways > 1 || std::string_view(degree) == "tp"))
      out += fmt::format(" {} {}", degree, shown_number(*ways));
  return out;
}

std::string of_deployment(const Node& one) {
  const Node* plan = at(one, "plan");
  return plan ? deployment_text(*plan) : std::string();
}

// How much of each limit the deployment uses.
Chart load_of_limits(const Node& result) {
  Chart out;
  out.name = "load";
  std::vector<Share> used;
  const auto add = [&](const char* what, const char* figure, const char* limit) {
    const Node *value = at(result, figure), *most = at(result, limit);
    if (value == nullptr || !value->is_number() || most == nullptr || !most->is_number() || most->number <= 0) return;
    ChartMark mark;
    mark.place = what, mark.x = 100 * value->number / most->number;
    mark.facts = {derived("what", what), fact("used", value), fact("of", most),
                  derived("share", percent_of(mark.x, 100))};
    add_share(used, what, mark.x);
    out.marks.push_back(std::move(mark));
  };
  add("requests a second", "question.rate", "capacity_requests_per_s");
  if (const Node* held = at(result, "occupancy"); held && held->is_number()) {
    ChartMark mark;
    mark.place = "memory of keys and values", mark.x = 100 * held->number;
    mark.facts = {derived("what", mark.place), fact("used", held), derived("of", "1"),
                  derived("share", percent_of(mark.x, 100))};
    add_share(used, mark.place, mark.x);
    out.marks.push_back(std::move(mark));
  }
  add("time between tokens", "tpot_s", "question.tpot_limit_s");
  add("time to the first token", "ttft_s.mean", "question.ttft_limit_s");
  if (used.empty()) return out;
  const Share& most = largest_of(used);
  out.x.title = "share of what is possible or allowed (%)";
  out.limit = {100, "limit"};
  out.title = fmt::format("Nearest to its limit: {}, at {}", most.name, percent_of(most.amount, 100));
  out.description =
      "What the deployment uses of what it can do and of what was allowed: requests of those it keeps up with, blocks "
      "of keys and values, times of the limits that were given.";
  return out;
}

// The memory of an accelerator.
Chart served_memory(const Node& result) {
  const Node *parts = at(result, "memory_bytes"), *capacity = at(result, "memory_bytes.total");
  if (parts == nullptr || !parts->is_object() || capacity == nullptr || !capacity->is_number()) return {};
  Chart out = bars_of(*parts, "memory", "memory of an accelerator", "B");
  if (out.marks.empty()) return out;
  const ChartUnit unit = unit_of(capacity->number, "B");
  for (ChartMark& mark : out.marks) {
    mark.x = number_at(*parts, mark.place).value_or(0) * unit.factor;
    mark.series = mark.place;
    out.series.push_back(mark.place);
    mark.place = "accelerator";
  }
  out.x.title = fmt::format("memory ({})", unit.name);
  out.limit = {capacity->number * unit.factor, "what an accelerator has"};
  out.title = fmt::format("{} take {} of what is used", out.series.front(), out.marks.front().facts.back().shown);
  out.description = "Memory of the fullest accelerator by what lies there; caches are all blocks of keys and values.";
  return out;
}

// A request from its arrival to its last token, under each deployment that is listed.
Chart request_times(const Node& result) {
  Chart out;
  out.name = "request";
  const double tokens = number_at(result, "question.osl").value_or(1);
  const std::vector<Node>& best = items_at(result, "best");
  std::vector<double> whole;
  for (const Node& one : best)
    whole.push_back(number_at(one, "ttft_s.mean").value_or(0) + number_at(one, "tpot_s").value_or(0) * (tokens - 1));
  if (best.empty()) return out;
  const ChartUnit unit = unit_of(*std::max_element(whole.begin(), whole.end()), "s");
  out.series = {"until the first token", "between tokens"};
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::string name = fmt::format("{}: {}", i + 1, of_deployment(best[i]));
    const Node *first = at(best[i], "ttft_s.mean"), *next = at(best[i], "tpot_s");
    for (const Node* time : {first, next}) {
      if (time == nullptr || !time->is_number()) continue;
      ChartMark mark;
      mark.place = name, mark.series = out.series[time == first ? 0 : 1];
      mark.x = time->number * (time == first ? 1 : tokens - 1) * unit.factor;
      mark.facts = {derived("deployment", name),
                    derived("part", mark.series),
                    derived("seconds", shown_number(mark.x / unit.factor)),
                    fact("ttft_s", first),
                    fact("tpot_s", next),
                    fact("accelerators", at(best[i], "plan.accelerators"))};
      out.marks.push_back(std::move(mark));
    }
  }
  const double first = number_at(best[0], "ttft_s.mean").value_or(0);
  out.x.title = fmt::format("time of a request ({})", unit.name);
  out.title = fmt::format("A request takes {:.4g} {}, of which its first token {}", whole[0] * unit.factor, unit.name,
                          percent_of(first, whole[0]));
  out.description = fmt::format("Mean time of a request with an answer of {} tokens: the first token, then the others.",
                                shown_number(tokens));
  return out;
}

// What an accelerator yields, against what a user sees.
Chart deployments(const Node& result) {
  Chart out;
  out.name = "front", out.kind = Chart::Kind::kPoints;
  const std::vector<Node>& best = items_at(result, "best");
  if (best.size() < 2) return out;
  out.series = {"the answer", "others"};
  for (const Node& one : best) {
    const Node *time = at(one, "tpot_s"), *rate = at(one, "per_accelerator");
    if (time == nullptr || !time->is_number() || time->number <= 0 || rate == nullptr || !rate->is_number()) continue;
    ChartMark mark;
    mark.x = 1 / time->number, mark.y = rate->number, mark.label = of_deployment(one);
    mark.series = out.series[&one == &best.front() ? 0 : 1];
    mark.facts = {derived("deployment", mark.label),
                  fact("accelerators", at(one, "plan.accelerators")),
                  fact("tpot_s", time),
                  derived("tokens/s of a user", shown_number(mark.x)),
                  fact("per_accelerator", rate),
                  fact("usd_per_million_tokens", at(one, "usd_per_million_tokens"))};
    out.marks.push_back(std::move(mark));
  }
  out.x.title = "tokens/s of a user, after the first", out.y.title = "output tokens/s of an accelerator";
  const std::string goal = text_at(result, "question.goal");
  const char* const said = goal == "throughput" ? "Most tokens/s of an accelerator"
                           : goal == "cost"     ? "The least cost"
                                                : "The fewest accelerators";
  out.title = fmt::format("{}: {} on {}; the other {} shapes need more or yield less", said, of_deployment(best[0]),
                          shown_number(number_at(best[0], "plan.accelerators").value_or(0)), best.size() - 1);
  out.description = "The best deployment of each shape: what an accelerator yields, and how fast a user reads.";
  return out;
}

}  // namespace

std::vector<Chart> serve_charts(const Node& document) {
  const Node* result = at(document, "result");
  if (result == nullptr || items_at(*result, "best").empty()) return {};
  return {load_of_limits(*result), request_times(*result), served_memory(*result), deployments(*result)};
}

}  // namespace orrery::verbs
