#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/charts/plan_charts.h"

namespace orrery::verbs {
namespace {

// What of an iteration is no work of the model.
bool is_waiting(const std::string& cause) {
  return cause.ends_with("_exposed") || cause == "bubble";
}

Chart time_by_cause(const Node& result) {
  const Node* parts = at(result, "breakdown");
  if (parts == nullptr || !parts->is_object()) return {};
  Chart out = bars_of(*parts, "time", "time of an iteration", "s");
  if (out.marks.empty()) return out;
  double total = 0, waiting = 0;
  for (const formats::json::Member& part : parts->members) {
    total += part.value.number;
    if (is_waiting(part.key)) waiting += part.value.number;
  }
  out.series = {"computing", "waiting"};
  for (ChartMark& mark : out.marks) {
    mark.series = is_waiting(mark.place) ? "waiting" : "computing";
    mark.place = cause_text(mark.place);
  }
  out.title = fmt::format("An iteration takes {:.4g} s: {} {}, transfers and bubbles {}", total,
                          out.marks.front().place, out.marks.front().facts.back().shown, percent_of(waiting, total));
  out.description = "Time of one iteration by its cause, the largest first. Transfers behind computation do not count.";
  if (const Node* plan = at(result, "plan")) out.description += " The plan is " + plan_text(*plan) + ".";
  return out;
}

Chart memory_by_kind(const Node& result) {
  const Node* parts = at(result, "memory_bytes");
  if (parts == nullptr || !parts->is_object()) return {};
  Chart out = bars_of(*parts, "memory", "memory of an accelerator", "B");
  if (out.marks.empty()) return out;
  const std::optional<double> capacity = number_at(result, "capacity_bytes"), total = number_at(*parts, "total");
  const double most = std::max(capacity.value_or(0), out.marks.front().x);
  const ChartUnit unit = unit_of(most, "B");
  for (ChartMark& mark : out.marks) {
    mark.x = number_at(*parts, mark.place).value_or(0) * unit.factor;
    mark.series = mark.place;
    out.series.push_back(mark.place);
    mark.place = "accelerator";
  }
  out.x.title = fmt::format("memory ({})", unit.name);
  if (capacity) out.limit = {*capacity * unit.factor, "capacity"};
  out.title = fmt::format("{} of the memory goes to {}", out.marks.front().facts.back().shown, out.series.front());
  if (capacity && total)
    out.title +=
        fmt::format("; {:.3g} of {:.3g} {} are used", *total * unit.factor, *capacity * unit.factor, unit.name);
  out.description = "Memory of the fullest accelerator by what lies there, against what it has.";
  return out;
}

// What sets plans apart, each by its place: "2: interleave 5, zero 1".
std::vector<std::string> plan_names(const std::vector<Node>& top) {
  std::vector<std::vector<Fact>> fields(top.size());
  for (std::size_t i = 0; i < top.size(); ++i)
    if (const Node* plan = at(top[i], "plan")) plan_fields(*plan, "", fields[i]);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < top.size(); ++i) {
    std::string name;
    for (std::size_t f = 0; f < fields[i].size(); ++f) {
      const bool alike = std::all_of(fields.begin(), fields.end(), [&](const std::vector<Fact>& other) {
        return f < other.size() && other[f].shown == fields[0][f].shown;
      });
      if (!alike) name += (name.empty() ? "" : ", ") + fields[i][f].name + " " + fields[i][f].shown;
    }
    out.push_back(fmt::format("{}{}{}", i + 1, name.empty() ? "" : ": ", name));
  }
  return out;
}

Chart best_plans(const Node& result) {
  Chart out;
  out.name = "plans";
  const std::vector<Node>& top = items_at(result, "top");
  if (top.size() < 2) return out;
  const std::vector<std::string> names = plan_names(top);
  std::vector<Share> causes;
  double most = 0;
  for (const Node& plan : top) most = std::max(most, number_at(plan, "iteration_s").value_or(0));
  const ChartUnit unit = unit_of(most, "s");
  for (std::size_t i = 0; i < top.size(); ++i) {
    const Node *plan = at(top[i], "plan"), *parts = at(top[i], "breakdown");
    if (plan == nullptr || parts == nullptr) continue;
    const std::string& name = names[i];
    for (const formats::json::Member& part : parts->members) {
      if (part.value.number <= 0) continue;
      add_share(causes, cause_text(part.key), part.value.number);
      ChartMark mark;
      mark.place = name, mark.series = cause_text(part.key), mark.x = part.value.number * unit.factor;
      mark.facts = {derived("plan", name),
                    derived("cause", cause_text(part.key)),
                    fact("seconds", &part.value),
                    fact("iteration_s", at(top[i], "iteration_s")),
                    fact("memory_bytes", at(top[i], "memory_bytes")),
                    fact("mfu", at(top[i], "mfu"))};
      out.marks.push_back(std::move(mark));
    }
  }
  for (const Share& cause : causes) out.series.push_back(cause.name);
  out.x.title = fmt::format("time of an iteration ({})", unit.name);
  const double best = number_at(top[0], "iteration_s").value_or(0), next = number_at(top[1], "iteration_s").value_or(0);
  out.title = best > 0 ? fmt::format("The best of these {} plans takes {:.4g} s, the next one {:.2g} % more",
                                     top.size(), best, 100 * (next / best - 1))
                       : fmt::format("The best {} plans", top.size());
  out.description =
      "Time of an iteration under the best plans that were found, by its cause; named by what sets them "
      "apart.";
  if (const Node* plan = at(top[0], "plan")) out.description += " The first is " + plan_text(*plan) + ".";
  return out;
}

// Under several objectives: the plans that no other one beats.
Chart plan_front(const Node& result) {
  Chart out;
  out.name = "front", out.kind = Chart::Kind::kPoints;
  const std::vector<Node>&values = items_at(result, "values"), &objectives = items_at(result, "objective"),
        &top = items_at(result, "top");
  if (objectives.size() < 2 || values.size() < 2 || values.size() != top.size()) return out;
  out.x.title = objectives[0].text, out.y.title = objectives[1].text;
  std::vector<std::pair<double, double>> line;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].items.size() < 2) continue;
    ChartMark mark;
    mark.x = values[i].items[0].number, mark.y = values[i].items[1].number;
    const Node* plan = at(top[i], "plan");
    mark.label = plan ? plan_text(*plan) : "";
    mark.facts = {derived("plan", mark.label), fact(objectives[0].text, &values[i].items[0]),
                  fact(objectives[1].text, &values[i].items[1])};
    line.emplace_back(mark.x, mark.y);
    out.marks.push_back(std::move(mark));
  }
  out.lines.push_back(front_line(std::move(line), "front"));
  out.title = fmt::format("{} plans that no other one beats in {} and {}", out.marks.size(), objectives[0].text,
                          objectives[1].text);
  out.description = "Plans by the first two objectives.";
  return out;
}

}  // namespace

std::string cause_text(const std::string& cause) {
  if (cause.ends_with("_exposed")) return "waiting for " + cause.substr(0, 2) + " transfers";
  if (cause == "bubble") return "pipeline bubble";
  return cause;
}

std::string plan_text(const Node& plan) {
  std::string out;
  for (const char* field : {"tp", "pp", "dp", "cp", "ep"})
    if (const auto degree = number_at(plan, field); degree && (*degree > 1 || std::string_view(field) == "tp"))
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", field, shown_number(*degree));
  if (const auto size = number_at(plan, "micro_batch")) out += ", micro-batch " + shown_number(*size);
  if (const auto parts = number_at(plan, "interleave"); parts && *parts > 1)
    out += ", interleaved " + shown_number(*parts);
  if (const std::string again = text_at(plan, "recompute"); !again.empty() && again != "none")
    out += ", recompute " + again;
  return out;
}

void plan_fields(const Node& plan, const std::string& prefix, std::vector<Fact>& out) {
  for (const formats::json::Member& member : plan.members)
    if (member.value.is_object())
      plan_fields(member.value, prefix + member.key + ".", out);
    else
      out.push_back(fact(prefix + member.key, &member.value));
}

std::vector<Chart> train_charts(const Node& document) {
  const Node* result = at(document, "result");
  if (result == nullptr) return {};
  return {time_by_cause(*result),   memory_by_kind(*result),    usual_beside_best(*result), best_plans(*result),
          best_by_degrees(*result), pipeline_timeline(*result), plan_front(*result)};
}

}  // namespace orrery::verbs
