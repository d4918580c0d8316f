#include "orrery/present/charts/plan_charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/pipeline/schedule.h"

namespace orrery::verbs {
namespace {

base::Count count_at(const Node& node, const char* key) {
  const std::optional<double> value = number_at(node, key);
  return value && *value >= 1 && *value <= 1e9 ? base::saturated(*value) : 0;
}

// What of a plan its pipeline depends on. Nothing where no pipeline of these figures ends, or it is too long to draw:
// documents are read from files.
std::optional<cluster::Plan> pipelined(const Node& result) {
  constexpr base::Count kMostEvents = 200'000;
  const Node* said = at(result, "plan");
  if (said == nullptr) return std::nullopt;
  cluster::Plan plan;
  plan.pp = count_at(*said, "pp"), plan.interleave = count_at(*said, "interleave"), plan.dp = count_at(*said, "dp");
  plan.micro_batch = count_at(*said, "micro_batch"), plan.global_batch = count_at(*said, "global_batch");
  bool known = false;
  for (const auto& [name, choice] : cluster::schedules())
    if (name == text_at(*said, "schedule")) plan.schedule = cluster::schedule_of(choice), known = true;
  for (const auto& [name, stack] : cluster::stacks())
    if (name == text_at(*said, "stack.name")) plan.stack.name = stack;
  if (!known || plan.pp < 2 || plan.interleave < 1 || plan.dp < 1 || plan.micro_batch < 1 || plan.global_batch < 1)
    return std::nullopt;
  const base::Count m = cluster::microbatches(plan);
  if (static_cast<double>(plan.pp) * static_cast<double>(m) * static_cast<double>(cluster::chunks(plan)) * 3 >
      kMostEvents)
    return std::nullopt;
  const bool one = plan.schedule == cluster::Schedule::kOneFOneB;
  if (plan.interleave > 1 && (!one || cluster::microbatch_group(plan) == 0)) return std::nullopt;
  if (plan.schedule == cluster::Schedule::kZeroBubble && m < plan.pp) return std::nullopt;
  if (plan.schedule == cluster::Schedule::kDualPipe && (plan.pp % 2 != 0 || m % 2 != 0 || m < 2 * plan.pp))
    return std::nullopt;
  return plan;
}

cluster::StageTimes stage_times(const Node& pipeline, const char* stage) {
  const Node* times = at(pipeline, stage);
  if (times == nullptr) return {};
  const auto seconds = [&](const char* key) { return std::max(0.0, number_at(*times, key).value_or(0)); };
  return {
      seconds("forward_s"),        seconds("backward_s"),        seconds("weight_gradient_s"),       seconds("apart_s"),
      seconds("second_forward_s"), seconds("second_backward_s"), seconds("second_weight_gradient_s")};
}

const char* work_name(cluster::Work work) {
  return work == cluster::Work::kForward    ? "forward"
         : work == cluster::Work::kBackward ? "backward"
                                            : "weight gradients";
}

}  // namespace

Chart pipeline_timeline(const Node& result) {
  constexpr std::size_t kMostDrawn = 600;
  Chart out;
  out.name = "pipeline", out.kind = Chart::Kind::kSpans;
  const Node* pipeline = at(result, "pipeline");
  const std::optional<cluster::Plan> plan = pipelined(result);
  if (pipeline == nullptr || !pipeline->is_object() || !plan) return out;
  cluster::Iteration iteration;
  iteration.first = stage_times(*pipeline, "first"), iteration.middle = stage_times(*pipeline, "middle");
  iteration.last = stage_times(*pipeline, "last");
  iteration.boundary_s = std::max(0.0, number_at(*pipeline, "boundary_s").value_or(0));
  const std::vector<cluster::StageEvent> events = cluster::simulate(iteration, *plan);
  const std::size_t drawn = std::min(kMostDrawn, events.size());
  double busy = 0, shown = 0;
  std::map<int, double> by_stage;
  for (const cluster::StageEvent& event : events)
    busy += event.end_s - event.start_s, by_stage[event.stage] += event.end_s - event.start_s;
  double busiest = 0;
  for (const auto& [stage, time] : by_stage) busiest = std::max(busiest, time);
  for (std::size_t i = 0; i < drawn; ++i) shown = std::max(shown, events[i].end_s);
  const double end = cluster::makespan(events), all = end * static_cast<double>(plan->pp);
  const ChartUnit unit = unit_of(shown, "s");
  // Stages in their order, whichever begins first.
  std::vector<cluster::StageEvent> first(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(drawn));
  std::stable_sort(first.begin(), first.end(), [](const auto& a, const auto& b) { return a.stage < b.stage; });
  std::vector<Share> works;
  for (const cluster::StageEvent& event : first) {
    ChartMark mark;
    mark.place = fmt::format("stage {}", event.stage), mark.series = work_name(event.work);
    mark.x = event.start_s * unit.factor, mark.y = event.end_s * unit.factor;
    mark.facts = {derived("stage", fmt::format("{}", event.stage)),
                  derived("work", mark.series),
                  derived("microbatch", fmt::format("{}", event.microbatch)),
                  derived("chunk", fmt::format("{}", event.chunk)),
                  derived("start_s", shown_number(event.start_s)),
                  derived("end_s", shown_number(event.end_s))};
    add_share(works, mark.series, 1);
    out.marks.push_back(std::move(mark));
  }
  for (const Share& work : works) out.series.push_back(work.name);
  out.x.title = fmt::format("time ({})", unit.name);
  out.title =
      fmt::format("Stages wait {} of the pipeline's time on average, the busiest {}: {} microbatches over {} stages",
                  percent_of(std::max(0.0, all - busy), all), percent_of(std::max(0.0, end - busiest), end),
                  cluster::microbatches(*plan), plan->pp);
  out.description =
      "What each stage of the pipeline does when: a piece is a microbatch's pass through a chunk of the stage, with "
      "its "
      "transfer. Gaps are waiting; the stage that waits least is the one that the breakdown is of.";
  if (drawn < events.size())
    out.note = fmt::format("The first {} of {} pieces are drawn, {:.3g} of {:.3g} s; `train --trace FILE` writes all.",
                           drawn, events.size(), shown, end);
  return out;
}

Chart usual_beside_best(const Node& result) {
  Chart out;
  out.name = "usual";
  const Node *usual = at(result, "usual"), *best = at(result, "plan"), *other = at(result, "usual.plan");
  const double now = number_at(result, "iteration_s").value_or(0);
  if (usual == nullptr || !usual->is_object() || best == nullptr || other == nullptr || now <= 0) return out;
  const double then = number_at(*usual, "iteration_s").value_or(0);
  const ChartUnit unit = unit_of(std::max(now, then), "s");
  std::vector<Share> causes, more;
  for (const auto& [name, plan] : {std::pair{"the best", &result}, std::pair{"the usual", usual}}) {
    const Node* parts = at(*plan, "breakdown");
    if (parts == nullptr) continue;
    for (const formats::json::Member& part : parts->members) {
      const std::string cause = cause_text(part.key);
      add_share(more, cause, plan == usual ? part.value.number : -part.value.number);
      if (part.value.number <= 0) continue;
      add_share(causes, cause, part.value.number);
      ChartMark mark;
      mark.place = name, mark.series = cause, mark.x = part.value.number * unit.factor;
      mark.facts = {derived("plan", name), derived("cause", cause), fact("seconds", &part.value),
                    fact("iteration_s", at(*plan, "iteration_s")), fact("mfu", at(*plan, "mfu"))};
      out.marks.push_back(std::move(mark));
    }
  }
  if (more.empty()) return out;
  for (const Share& cause : causes) out.series.push_back(cause.name);
  const Share& largest = largest_of(more);
  const double rest = (then - now - largest.amount) * unit.factor;
  const std::string offset =
      std::fabs(rest) < 5e-3 * (then - now) * unit.factor
          ? ""
          : fmt::format(", all else {:.3g} {} {}", std::fabs(rest), unit.name, rest > 0 ? "more" : "less");
  out.x.title = fmt::format("time of an iteration ({})", unit.name);
  const bool same = std::fabs(then - now) <= 5e-5 * now;
  out.title = same ? "Megatron-LM's usual plan is as fast as the best one"
              : then > now
                  ? fmt::format("Megatron-LM's usual plan takes {:.3g} {} more ({:.3g} %): {} {:.3g} {} more{}",
                                (then - now) * unit.factor, unit.name, 100 * (then / now - 1), largest.name,
                                largest.amount * unit.factor, unit.name, offset)
                  : fmt::format("Megatron-LM's usual plan takes {:.3g} % less time: it was not among those searched",
                                100 * (1 - then / now));
  std::string apart;
  std::vector<Fact> ours, theirs;
  plan_fields(*best, "", ours), plan_fields(*other, "", theirs);
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
    if (ours[i].name == theirs[i].name && ours[i].shown != theirs[i].shown)
      apart += fmt::format("{}{} {}, not {}", apart.empty() ? "" : "; ", ours[i].name, ours[i].shown, theirs[i].shown);
  out.description = fmt::format(
      "Time of an iteration by cause under the best plan, and under the one by the rule of Megatron-LM's authors: {}.",
      text_at(*usual, "rule"));
  if (!apart.empty()) out.note = "What differs of the best: " + apart + ".";
  // A gain within the error of the predictions is proven of the model, not of a run.
  const Node* error = at(result, "optimum_error");
  const auto least = error ? number_at(*error, "least") : std::nullopt;
  const auto most = error ? number_at(*error, "most") : std::nullopt;
  if (then > now && least && most && *least > 0 && then / now < *most / *least)
    out.note += fmt::format(
        "{}A gain of {:.3g} % is within the error of searched plans ({:.3g} to {:.3g} of the speed that recipes "
        "measured).",
        out.note.empty() ? "" : " ", 100 * (then / now - 1), *least, *most);
  return out;
}

Chart best_by_degrees(const Node& result) {
  Chart out;
  out.name = "degrees", out.kind = Chart::Kind::kCells;
  const Node* fastest = nullptr;
  double least = 0;
  std::vector<std::pair<std::pair<double, double>, const Node*>> cells;
  for (const Node& cell : items_at(result, "map"))
    if (const auto time = number_at(cell, "iteration_s"); time && *time > 0) {
      cells.push_back({{number_at(cell, "plan.tp").value_or(0), number_at(cell, "plan.pp").value_or(0)}, &cell});
      if (fastest == nullptr || *time < least) fastest = &cell, least = *time;
    }
  if (cells.size() < 2) return out;
  std::stable_sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::set<double> stages;
  for (const auto& [degrees, cell] : cells) stages.insert(degrees.second);
  for (const double pp : stages) out.columns.push_back(shown_number(pp));
  for (const auto& [degrees, cell] : cells) {
    const Node* plan = at(*cell, "plan");
    ChartMark mark;
    mark.place = fmt::format("tp {}", shown_number(degrees.first)), mark.column = shown_number(degrees.second);
    mark.x = *number_at(*cell, "iteration_s") / least;
    mark.facts = {derived("plan", plan ? plan_text(*plan) : ""), fact("iteration_s", at(*cell, "iteration_s")),
                  derived("times the best", fmt::format("{:.4g}", mark.x)), fact("mfu", at(*cell, "mfu")),
                  fact("memory_bytes", at(*cell, "memory_bytes"))};
    out.marks.push_back(std::move(mark));
  }
  out.x.title = "pipeline stages; colour: time over that of the best";
  out.title = fmt::format("The fastest is at tp {}, pp {}", shown_number(number_at(*fastest, "plan.tp").value_or(0)),
                          shown_number(number_at(*fastest, "plan.pp").value_or(0)));
  out.description = "Time of an iteration under the best plan of every tp x pp that fits.";
  return out;
}

}  // namespace orrery::verbs
