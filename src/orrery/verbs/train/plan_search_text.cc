#include "orrery/verbs/train/plan_search_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/present/table_form.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/train/plan_map_text.h"

namespace orrery::verbs {
namespace {

using cluster::Candidate;
using cluster::Metric;

std::string shown(Metric metric, double value) {
  switch (metric) {
    case Metric::kGoodput:
      if (value >= std::numeric_limits<double>::max()) return "never";
      return shown_seconds(value);
    case Metric::kTime:
      return shown_seconds(value);
    case Metric::kCost:
      return fmt::format("{:.4g}", value);
    case Metric::kEnergy:
      return fmt::format("{:.4g} MJ", value / 1e6);
    case Metric::kMemory:
      return fmt::format("{:.2f} GB", value / 1e9);
    case Metric::kAccelerators:
      break;
  }
  return fmt::format("{:.0f}", value);
}

std::string metrics_of(const PlanAnswer& answer) {
  std::vector<std::string> names;
  for (const Metric metric : answer.objective.metrics) names.push_back(metric_name(metric));
  return base::joined(names, answer.objective.front ? " and " : ", then ");
}

std::string proof(const PlanAnswer& answer) {
  const base::Certificate& proven = answer.certificate;
  const std::string of = fmt::format("{} plans", base::grouped(proven.space));
  if (answer.top.empty() && proven.space == 0) return "no plan is possible with what is given\n";
  if (answer.top.empty()) return fmt::format("none of {} is within the limits\n", of);
  if (answer.certified) return fmt::format("best in {} of {}, each evaluated\n", metrics_of(answer), of);
  if (proven.optimal)
    return fmt::format("best in {} of {}, proven: {} evaluated, bounds exclude the rest\n", metrics_of(answer), of,
                       base::grouped(static_cast<double>(proven.evaluated)));
  return fmt::format("best in {} so far, of {}: {}\n", metrics_of(answer), of,
                     proven.gap < 1 ? fmt::format("none is better by more than {:.2f} %", 100 * proven.gap)
                                    : "how good the best is, is not known");
}

// A column of the table of plans: left out where it says the same of all, unless it is an objective's.
struct PlansColumn {
  std::string head;
  std::vector<std::string> cells;
};

std::vector<PlansColumn> columns_of(const TrainedModel& trained, const std::vector<Candidate>& plans) {
  const PlanAnswer& answer = *trained.search;
  const std::vector<Metric>& metrics = answer.objective.metrics;
  std::vector<PlansColumn> columns;
  const auto add = [&](const std::string& head, bool always, const auto& cell) {
    PlansColumn column{head, {}};
    for (const Candidate& each : plans) column.cells.push_back(cell(each));
    const bool alike =
        std::adjacent_find(column.cells.begin(), column.cells.end(), std::not_equal_to<>()) == column.cells.end();
    if (always || !alike) columns.push_back(column);
  };
  int number = 0;
  add("", true, [&](const Candidate&) { return std::to_string(++number); });
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const bool dollars = metrics[i] == Metric::kCost && answer.objective.price_per_gpu_hour > 0;
    const std::string head = dollars                       ? "USD"
                             : metrics[i] == Metric::kCost ? "accelerator-hours"
                                                           : metric_name(metrics[i]);
    add(head, true, [&, i](const Candidate& each) { return shown(metrics[i], each.score[i]); });
  }
  const auto asked = [&](Metric metric) { return std::find(metrics.begin(), metrics.end(), metric) != metrics.end(); };
  if (!asked(Metric::kTime) || answer.objective.by_sequence)
    add("iteration", true, [](const Candidate& each) { return shown_seconds(each.iteration.iteration_s); });
  if (!asked(Metric::kMemory))
    add("in use", true, [](const Candidate& each) { return shown(Metric::kMemory, each.iteration.memory.in_use()); });
  if (!asked(Metric::kAccelerators))
    add("accelerators", false, [](const Candidate& each) { return std::to_string(each.plan.gpus); });
  add("batch", false, [](const Candidate& each) { return std::to_string(each.plan.global_batch); });
  add("plan", true, [&](const Candidate& each) { return plan_line(trained.model, each.plan); });
  return columns;
}

// A plan of the list, and those after it that are nearly as good and share out the work alike.
struct Alike {
  std::size_t first = 0, more = 0;
  std::vector<cluster::Variable> differ;  // in what they differ from the first
};

constexpr double kNearlyAlike = 0.002;  // far below what a prediction is off by

std::vector<Alike> alike(const PlanAnswer& answer) {
  using cluster::Variable;
  const auto near = [](double a, double b) { return std::fabs(a - b) <= kNearlyAlike * std::fabs(a); };
  const auto joins = [&](const Candidate& first, const Candidate& other) {
    for (const Variable variable : {Variable::kGlobalBatch, Variable::kTp, Variable::kPp, Variable::kDp, Variable::kCp,
                                    Variable::kEp, Variable::kMicroBatch, Variable::kSchedule, Variable::kRecompute})
      if (get(first.plan, variable) != get(other.plan, variable)) return false;
    for (std::size_t i = 0; i < answer.objective.metrics.size(); ++i)
      if (!near(first.score[i], other.score[i])) return false;
    return near(first.iteration.iteration_s, other.iteration.iteration_s);
  };
  std::vector<Alike> all;
  for (std::size_t i = 0; i < answer.top.size(); ++i) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const Alike& each) {
      return !answer.objective.front && joins(answer.top[each.first], answer.top[i]);
    });
    if (known == all.end()) {
      all.push_back({i, 0, {}});
      continue;
    }
    ++known->more;
    for (const Variable variable : cluster::kVariables)
      if (get(answer.top[known->first].plan, variable) != get(answer.top[i].plan, variable) &&
          std::find(known->differ.begin(), known->differ.end(), variable) == known->differ.end())
        known->differ.push_back(variable);
  }
  return all;
}

std::string near_copies(const Alike& of) {
  std::vector<std::string> names;
  for (const cluster::Variable variable : of.differ) names.emplace_back(name(variable));
  return fmt::format("and {} more within {:.1f} %, which differ{} in {}", of.more, 100 * kNearlyAlike,
                     of.more == 1 ? "s" : "", base::joined(names, ", "));
}

std::string plans_table(const TrainedModel& trained, const PlanAnswer& answer) {
  const std::vector<PlansColumn> columns = columns_of(trained, answer.top);
  if (table_form() != TableForm::kText) {
    Table table;
    table.rows.resize(answer.top.size());
    for (const PlansColumn& column : columns) {
      table.header.push_back(column.head);
      for (std::size_t i = 0; i < table.rows.size(); ++i) table.rows[i].push_back(column.cells[i]);
    }
    return text(table);
  }
  std::vector<std::size_t> widths;
  std::size_t before_last = 0;
  for (const PlansColumn& column : columns) {
    std::size_t width = column.head.size();
    for (const std::string& cell : column.cells) width = std::max(width, cell.size());
    widths.push_back(width);
    if (&column != &columns.back()) before_last += width + 2;
  }
  const auto line = [&](const auto& text_of) {
    std::string out;
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) out += fmt::format("{:>{}}  ", text_of(columns[i]), widths[i]);
    return out + text_of(columns.back()) + "\n";
  };
  std::string out = line([](const PlansColumn& column) { return column.head; });
  for (const Alike& each : alike(answer)) {
    out += line([&](const PlansColumn& column) { return column.cells[each.first]; });
    if (each.more > 0) out += std::string(before_last + 2, ' ') + near_copies(each) + "\n";
  }
  return out;
}

std::string instead(const std::string& is, const std::string& was, double ratio) {
  return fmt::format("{} instead of {}, {:+.1f} %", is, was, 100 * (ratio - 1));
}

// By what each cause makes the forced plan longer.
std::string why_view(const TrainedModel& trained) {
  const ForcedPlan& forced = *trained.search->forced;
  if (!forced.best)
    return fmt::format("with {} no plan is within the limits{}{}\n", forced.choice, forced.reason.empty() ? "" : ": ",
                       forced.reason);
  const Candidate &chosen = trained.search->top.front(), &made = *forced.best;
  const cluster::Iteration &best = chosen.iteration, &other = made.iteration;
  const cluster::Objective& objective = trained.search->objective;
  // Plans of different batches are compared by the sequence.
  const auto seconds = [&](const Candidate& each) {
    return each.iteration.iteration_s / (objective.by_sequence ? static_cast<double>(each.plan.global_batch) : 1.0);
  };
  const double was = seconds(chosen), is = seconds(made);
  std::string out =
      fmt::format("with {}: {}\n  {}\n", forced.choice, instead(shown_seconds(is), shown_seconds(was), is / was),
                  plan_line(trained.model, made.plan));
  for (std::size_t i = 0; i < objective.metrics.size(); ++i) {
    const Metric metric = objective.metrics[i];
    const double before = chosen.score[i], now = made.score[i];
    if (metric == Metric::kTime || metric == Metric::kMemory || before <= 0) continue;
    out += fmt::format("  {:<12}{}\n", metric_name(metric),
                       instead(shown(metric, now), shown(metric, before), now / before));
  }
  using cluster::Breakdown;
  static constexpr std::pair<const char*, double Breakdown::*> kCauses[] = {
      {"forward", &Breakdown::forward},       {"backward", &Breakdown::backward},
      {"recompute", &Breakdown::recompute},   {"optimizer", &Breakdown::optimizer},
      {"tp exposed", &Breakdown::tp_exposed}, {"pp exposed", &Breakdown::pp_exposed},
      {"dp exposed", &Breakdown::dp_exposed}, {"ep exposed", &Breakdown::ep_exposed},
      {"cp exposed", &Breakdown::cp_exposed}, {"bubble", &Breakdown::bubble}};
  for (const auto& [name, cause] : kCauses) {
    const double more =
        other.breakdown.*cause * (is / other.iteration_s) - best.breakdown.*cause * (was / best.iteration_s);
    if (std::fabs(more) < 5e-4 * was) continue;
    out += fmt::format("  {:<12}{}{}\n", name, more < 0 ? "-" : "+", shown_seconds(std::fabs(more)));
  }
  // What the allocator keeps besides gives way, and both can fill the accelerator with it.
  const double bytes = other.memory.in_use() - best.memory.in_use();
  return out + fmt::format("  {:<12}{}{:.2f} GB in use\n", "memory", bytes < 0 ? "-" : "+", std::fabs(bytes) / 1e9);
}

}  // namespace

std::string metric_name(Metric metric) {
  switch (metric) {
    case Metric::kTime:
      return "time";
    case Metric::kCost:
      return "cost";
    case Metric::kEnergy:
      return "energy";
    case Metric::kMemory:
      return "memory";
    case Metric::kGoodput:
      return "goodput";
    case Metric::kAccelerators:
      break;
  }
  return "accelerators";
}

std::string further_choices(const cluster::Model& model, const cluster::Plan& plan) {
  std::string out;
  if (plan.shard > 0) out += fmt::format(" over {}", plan.shard);
  if (plan.order != cluster::Order::kCpDpPp)
    out += fmt::format(", {} on the network", cluster::name_of(plan.order, cluster::orders()));
  if (model.mixes() && plan.expert_tp == 1 && plan.tp > 1) out += ", whole experts";
  if (plan.lora_rank > 0) out += fmt::format(", adapters of rank {} trained alone", plan.lora_rank);
  if (plan.offload_activations > 0)
    out += fmt::format(", {:.0f} % of activations offloaded", 100 * plan.offload_activations);
  if (plan.offload_optimizer > 0)
    out += fmt::format(", {:.0f} % of the optimiser offloaded", 100 * plan.offload_optimizer);
  return out;
}

namespace {

struct PartAgain {
  const char* name;
  bool again, usual;
};

std::array<PartAgain, 8> parts_again(const cluster::Plan& plan) {
  const cluster::Recomputed& r = plan.recomputed;
  return {{{"core", r.core, true},
           {"norms", r.norms, false},
           {"activations", r.activations, false},
           {"latents", r.latents, false},
           {"networks", r.networks, false},
           {"mixtures", r.mixtures, false},
           {"shared_experts", r.shared_experts, false},
           {"expert_activations", r.expert_activations, false}}};
}

}  // namespace

std::string recomputation(const cluster::Plan& plan) {
  if (plan.recompute == cluster::Recompute::kNone) return "";
  std::string out = fmt::format(", {} recomputation", cluster::name_of(plan.recompute, cluster::recomputations()));
  if (plan.recompute != cluster::Recompute::kSelective) return out;
  std::string parts;
  bool usual = true;
  for (const PartAgain& part : parts_again(plan)) {
    usual = usual && part.again == part.usual;
    if (part.again) parts += fmt::format("{}{}", parts.empty() ? "" : ", ", part.name);
  }
  return usual ? out : fmt::format("{} ({})", out, parts.empty() ? "nothing" : parts);
}

std::string plan_line(const cluster::Model& model, const cluster::Plan& plan) {
  std::string out = fmt::format("tp {}, pp {}, dp {}", plan.tp, plan.pp, plan.dp);
  if (plan.cp > 1) out += fmt::format(", cp {}", plan.cp);
  if (model.mixes()) out += fmt::format(", ep {}", plan.ep);
  out += fmt::format("; microbatch {}", plan.micro_batch);
  if (plan.pp > 1) out += fmt::format(", {}", cluster::name_of(cluster::schedule_of(plan), cluster::schedules()));
  if (plan.interleave > 1) out += fmt::format(" {}", plan.interleave);
  out += recomputation(plan);
  if (plan.sequence_parallel) out += ", sequence parallelism";
  if (plan.zero > 0) out += fmt::format(", ZeRO {}", plan.zero);
  return out + further_choices(model, plan);
}

std::string plan_options(const cluster::Plan& plan, bool mixes, bool stack_given) {
  std::string out = fmt::format("--gpus {} --global-batch {} --micro-batch {} --tp {} --pp {} --dp {} --cp {}",
                                plan.gpus, plan.global_batch, plan.micro_batch, plan.tp, plan.pp, plan.dp, plan.cp);
  if (mixes) out += fmt::format(" --ep {}", plan.ep);
  if (plan.pp > 1)
    out += fmt::format(" --schedule {}", cluster::name_of(cluster::schedule_of(plan), cluster::schedules()));
  if (plan.interleave > 1) out += fmt::format(" --interleave {}", plan.interleave);
  if (plan.recompute != cluster::Recompute::kNone)
    out += fmt::format(" --recompute {}", cluster::name_of(plan.recompute, cluster::recomputations()));
  if (plan.recompute == cluster::Recompute::kSelective)
    for (const auto& [part, again, usual] : parts_again(plan))
      if (again != usual) out += fmt::format(" --set plan.recomputed.{}={}", part, again);
  if (plan.sequence_parallel) out += " --sequence-parallel";
  out += fmt::format(" --zero {}", plan.zero);
  if (stack_given || plan.zero == 3)  // which by itself takes other software
    out += fmt::format(" --stack {}", cluster::name_of(plan.stack.name, cluster::stacks()));
  if (mixes && plan.expert_tp > 0) out += fmt::format(" --set plan.expert_tp={}", plan.expert_tp);
  if (plan.shard > 0) out += fmt::format(" --set plan.shard={}", plan.shard);
  if (plan.order != cluster::Order::kCpDpPp)
    out += fmt::format(" --set plan.order={}", cluster::name_of(plan.order, cluster::orders()));
  if (plan.offload_activations > 0) out += fmt::format(" --set plan.offload_activations={}", plan.offload_activations);
  if (plan.idle > 0) out += fmt::format(" --set plan.idle={}", plan.idle);
  if (plan.offload_optimizer > 0) out += fmt::format(" --set plan.offload_optimizer={}", plan.offload_optimizer);
  return out;
}

namespace {

// How near the plan is to the end of memory. What the allocator keeps gives way, so what is in use counts.
std::string headroom(const cluster::Iteration& iteration) {
  const double left = iteration.capacity_bytes - iteration.memory.in_use();
  const double share = left / iteration.capacity_bytes;
  if (left < 0) return "";
  return fmt::format(
      "memory: {:.2f} GB in use, {:.2f} GB ({:.1f} %) left for the allocator and for what is predicted "
      "amiss\n",
      iteration.memory.in_use() / 1e9, left / 1e9, 100 * share);
}

// What was searched, and why not less.
std::string searched_space(const TrainedModel& trained) {
  const PlanAnswer& answer = *trained.search;
  std::string out = "among " + scope_in_words(answer.scope, trained.plan.stack.name);
  if (answer.margin > 0) out += fmt::format("; {:.2f} GB of memory left free", answer.margin / 1e9);
  if (answer.offloads_to_fit) out += "; none fits that offloads nothing";
  if (answer.margin_left)
    out += fmt::format("; none leaves {:.0f} % of memory free", 100 * kUsualMargin.share);
  else if (answer.scope == PlanScope::kUsual)
    out += "; `--space all` looks at the others";
  return out + "\n";
}

// What allowing more would bring.
std::string offloading_view(const TrainedModel& trained) {
  const PlanAnswer& answer = *trained.search;
  if (!answer.offloading) return "";
  constexpr double kWorthSaying = 0.001;
  const Candidate &best = answer.top.front(), &other = *answer.offloading;
  const bool some = best.plan.offload_activations > 0 || best.plan.offload_optimizer > 0;
  for (std::size_t i = 0; i < answer.objective.metrics.size(); ++i) {
    const double was = best.score[i], is = other.score[i];
    if (is < was * (1 - kWorthSaying))
      return fmt::format("offloading {} would bring {} instead ({:+.1f} %): {}\n",
                         some ? "more" : "to the hosts' memory", shown(answer.objective.metrics[i], is),
                         100 * (is / was - 1), plan_line(trained.model, other.plan));
    if (is > was) break;
  }
  return some ? "" : "offloading to the hosts' memory would bring nothing\n";
}

}  // namespace

std::string search_view(const TrainedModel& trained) {
  if (!trained.search) return "";
  const PlanAnswer& answer = *trained.search;
  std::string out = proof(answer);
  if (answer.top.empty()) return out + "\n";
  if (answer.idle > 0)
    out += fmt::format("{} of {} accelerators stay idle; hours and dollars are of all\n", answer.idle,
                       trained.plan.gpus + answer.idle);
  out += searched_space(trained) + headroom(trained.iteration) + offloading_view(trained);
  out += "this plan: " + plan_options(trained.plan, trained.model.mixes(), trained.stack_given) + trained.asked + "\n";
  if (answer.top.size() > 1) out += "\n" + plans_table(trained, answer);
  if (answer.forced) out += "\n" + why_view(trained);
  if (!answer.cells.empty()) out += "\n" + plan_map(trained);
  return out + "\n";
}

}  // namespace orrery::verbs
