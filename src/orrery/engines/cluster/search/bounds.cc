#include "orrery/engines/cluster/search/bounds.h"

#include <algorithm>
#include <cmath>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/flops.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/outside.h"
#include "orrery/engines/cluster/model/peak.h"
#include "orrery/engines/cluster/search/objective.h"

namespace orrery::cluster {
namespace {

// What does not change a stage's work at its least: one replica, nothing gathered.
Plan alone(Plan plan) {
  plan.expert_tp = expert_tp(plan);  // which can depend on how many replicas there are
  plan.dp = 1;
  plan.zero = 0;
  plan.interleave = 1;
  plan.shard = 0;
  plan.offload_activations = plan.offload_optimizer = 0;
  plan.gpus = plan.tp * plan.cp * plan.pp;
  return plan;
}

Pipeline stages_with(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators, const Reach& reach) {
  const Plan least = alone(plan);
  LayerContext context = layer_context(model, system, least, operators);
  context.contexts = reach.contexts;
  context.experts = reach.experts;
  context.expert_nodes = reach.expert_nodes;
  return pipeline(context);
}

}  // namespace

double peak_seconds(const Model& model, const System& system, const Plan& plan,
                    const machine::OperatorModel& operators) {
  if (dynamic_cast<const machine::Roofline*>(&operators) == nullptr) return 0;
  return done_flops_per_sequence(model, Recompute::kNone, {}, plan.lora_rank, plan.lora_networks).model /
         peak_of_run(system.accelerator, plan.precision);
}

Reach reach_of(const System& system, const Plan& plan) {
  Reach reach;
  if (plan.cp > 1) reach.contexts = context_ranks(system, plan);
  if (plan.ep > 1) {
    reach.experts = expert_ranks(system, plan);
    reach.expert_nodes = nodes_of(system, plan, plan.ep * expert_tp(plan));
  }
  return reach;
}

Reaches reaches(const System& system, Plan plan, base::Count expert_tp, const std::vector<Order>& orders,
                const std::vector<base::Count>& pps, const std::vector<base::Count>& dps, base::Count most_gpus) {
  Reaches found;
  plan.expert_tp = expert_tp;
  const std::vector<base::Count> none = {1};
  for (const Order order : orders) {
    plan.order = order;
    const bool stages_outermost = order == Order::kCpDpPp || order == Order::kDpCpPp;
    const bool replicas_first = order == Order::kDpCpPp || order == Order::kDpPpCp || order == Order::kPpDpCp;
    const bool alike = plan.cp == 1 && plan.ep == 1;
    for (const base::Count pp : stages_outermost || alike ? none : pps)
      for (const base::Count dp : replicas_first && !alike ? dps : none) {
        if (plan.tp * plan.cp * pp > most_gpus / dp) continue;
        plan.pp = pp;
        plan.dp = dp;
        const Reach reach = reach_of(system, plan);
        if (std::find(found.all.begin(), found.all.end(), reach) == found.all.end()) found.all.push_back(reach);
      }
  }
  return found;
}

Pipeline stages_of(const Model& model, const System& system, const Plan& plan,
                   const machine::OperatorModel& operators) {
  return stages_with(model, system, plan, operators, reach_of(system, plan));
}

double whole_seconds(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators, const Reaches& cut, const Reaches& whole) {
  Plan one = plan;
  one.pp = 1;
  // DualPipe hides what no other turns do.
  if (plan.schedule != Schedule::kDualPipe) one.schedule = Schedule::kOneFOneB;
  double least = kNever;
  const auto take = [&](const Reaches& which) {
    for (const Reach& reach : which.all)
      least = std::min(least, stages_with(model, system, one, operators, reach)[0].stage.tau());
  };
  if (plan.expert_tp > 0 || plan.tp == 1 || !model.mixes()) {
    take(cut);
    return least;
  }
  // As the software does it: the one or the other.
  one.expert_tp = 1;
  take(whole);
  one.expert_tp = plan.tp;
  take(cut);
  return least;
}

double whole_seconds(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators) {
  const auto of = [&](base::Count expert_tp) {
    Plan copy = plan;
    copy.expert_tp = expert_tp;
    return Reaches{{reach_of(system, copy)}};
  };
  if (plan.expert_tp > 0 || plan.tp == 1 || !model.mixes())
    return whole_seconds(model, system, plan, operators, of(plan.expert_tp), {});
  return whole_seconds(model, system, plan, operators, of(plan.tp), of(1));
}

double whole_seconds_alone(const Model& model, const System& system, const Plan& plan,
                           const machine::OperatorModel& operators) {
  const Reaches nearest = {{Reach{}}};
  return whole_seconds(model, system, plan, operators, nearest, nearest);
}

double late_share(const System& system, const Plan& plan) {
  const double nodes = std::max(1.0, static_cast<double>(plan.gpus) / static_cast<double>(system.node_size));
  return plan.stack.stragglers * std::log2(nodes);
}

double folded_floor(const Plan& plan, const Pipeline& pipe) {
  const auto all = static_cast<double>(microbatches(plan));
  const double m = whole_microbatches(plan);
  double slowest = 0, there_and_back = 0, first = 0;
  for (const Kind& kind : pipe) {
    if (kind.count == 0) continue;
    const Stage& s = kind.stage;
    slowest = std::max(slowest, s.tau());
    there_and_back += kind.count * (s.forward + s.input());
    if (kind.front == 0) first = s.forward - s.second.forward;
  }
  return std::max(m * slowest, there_and_back + (all - 1) * first - (all - m) * slowest);
}

double pipeline_bound(const Model& model, const Plan& plan, const Pipeline& pipe, double late) {
  const double m = whole_microbatches(plan) * (1 + late);
  const Waits waits(model, plan, pipe);
  double longest = 0;
  for (const Kind& kind : pipe)
    if (kind.count > 0) longest = std::max(longest, m * kind.stage.tau() + waits.of(kind));
  return longest;
}

double turns_bound(const Pipeline& pipe, double microbatches, double late) {
  double slowest = 0;
  for (const Kind& kind : pipe)
    if (kind.count > 0) slowest = std::max(slowest, kind.stage.tau());
  return microbatches * (1 + late) * slowest;
}

double outside_bound(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators) {
  LayerContext context{model, system, plan, operators};
  context.element = machine::bytes_per_element(plan.precision) == 4 ? 4 : 2;
  const StageParameters params = occupied(model, plan).most;
  const Outside sent = outside(context, params);
  const double possible = plan.overlap.dp * (1 - 1 / sync_units(model, plan));
  const double beside = 1 - plan.stack.contention;
  const double boundaries = plan.schedule == Schedule::kDualPipe ? 1 : plan.overlap.pp;
  const GradientSync& sync = sent.gradients;
  const double replicas = sync.gather + sync.reduce;
  const double moved = sync.gather_moved + sync.reduce_moved;
  const double shown = (sent.steady * (1 - boundaries * beside) + sent.ends) * sent.crossing + sent.embedding +
                       sync.alone + replicas - possible * (replicas - plan.stack.contention * moved);
  return shown + system.calibration.iteration_seconds +
         operators.memory_bound_seconds(system.calibration.optimizer_bytes_per_param *
                                        stepped_parameters(plan, params));
}

double turns_memory_bound(const Model& model, const Plan& plan) {
  // Gradients and the optimiser's state as ZeRO 3 shards them, without what it gathers; weights as it shards them,
  // which of software that has its masters for weights keeps none.
  Plan least = plan;
  least.zero = 2;
  least.shard = 0;
  // Ranks that no whole number of copies of the experts is spread over have no plan, but fewer can: as many more as
  // hold whole copies bound these, too.
  const base::Count copy = plan.ep * expert_tp(plan);
  if (plan.ep > 1 && plan.tp * plan.dp * plan.cp * held_stages(plan) % copy != 0)
    least.dp = base::ceil_divide(plan.dp, plan.ep * plan.tp) * plan.ep * plan.tp;
  const Memory bytes = memory(model, least);
  const auto parts = static_cast<double>(std::max<base::Count>({1, shards(least), expert_shards(least)}));
  const double sharded = plan.stack.state_bytes > 0 ? 0 : bytes.weights / parts;
  return bytes.in_use() - bytes.weights + sharded;
}

double memory_bound(const Model& model, const Plan& plan, Schedule lightest) {
  Plan least = plan;
  least.schedule = Schedule::kOneFOneB;
  least.interleave = 1;
  double kept = turns_memory_bound(model, least);
  // DualPipe's pairs of stages can be emptier than the fullest stage of others; V-Half and V-Min hold less than 1F1B.
  for (const Schedule odd : {plan.schedule, lightest}) {
    if (odd != Schedule::kDualPipe && !folded(odd)) continue;
    least.schedule = odd;
    kept = std::min(kept, turns_memory_bound(model, least));
  }
  return kept;
}

Bytes bytes_of(const Model& model, const System& system, const Plan& plan) {
  const Memory bytes = memory(model, plan);
  const double room = system.accelerator.memory_bytes - bytes.in_use();
  return {bytes.in_use(), bytes.in_use() + std::clamp(room, 0.0, bytes.reserve)};
}

}  // namespace orrery::cluster
