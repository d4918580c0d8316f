#include "orrery/cluster/bounds.h"

#include <algorithm>

#include "orrery/cluster/memory.h"

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

}  // namespace

Pipeline stages_of(const Model& model, const System& system, const Plan& plan,
                   const machine::OperatorModel& operators) {
  const Plan least = alone(plan);
  return pipeline(layer_context(model, system, least, operators));
}

double whole_seconds(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators) {
  Plan one = plan;
  one.pp = 1;
  // DualPipe hides what no other turns do.
  if (plan.schedule != Schedule::kDualPipe) one.schedule = Schedule::kOneFOneB;
  const auto seconds = [&] { return stages_of(model, system, one, operators)[0].stage.tau(); };
  if (plan.expert_tp > 0 || plan.tp == 1 || !model.mixes()) return seconds();
  // As the software does it: the one or the other.
  one.expert_tp = 1;
  const double whole_experts = seconds();
  one.expert_tp = plan.tp;
  return std::min(whole_experts, seconds());
}

double pipeline_bound(const Model& model, const Plan& plan, const Pipeline& pipe) {
  const double m = whole_microbatches(plan);
  double longest = 0;
  for (const Kind& kind : pipe)
    if (kind.count > 0) longest = std::max(longest, m * kind.stage.tau() + waiting(model, plan, pipe, kind));
  return longest;
}

double turns_bound(const Pipeline& pipe, double microbatches) {
  double slowest = 0;
  for (const Kind& kind : pipe)
    if (kind.count > 0) slowest = std::max(slowest, kind.stage.tau());
  return microbatches * slowest;
}

double memory_bound(const Model& model, const Plan& plan) {
  Plan least = plan;
  least.zero = 3;
  least.shard = 0;
  least.schedule = Schedule::kOneFOneB;
  least.interleave = 1;
  const Memory bytes = memory(model, least);
  const double kept = bytes.in_use() - bytes.buffers;
  if (plan.schedule != Schedule::kDualPipe) return kept;
  // Its pairs of stages can be emptier than the fullest stage of others.
  least.schedule = plan.schedule;
  const Memory folded = memory(model, least);
  return std::min(kept, folded.in_use() - folded.buffers);
}

double bytes_of(const Model& model, const System& system, const Plan& plan) {
  const Memory bytes = memory(model, plan);
  const double room = system.accelerator.memory_bytes - bytes.in_use();
  return bytes.in_use() + std::clamp(room, 0.0, bytes.reserve);
}

}  // namespace orrery::cluster
