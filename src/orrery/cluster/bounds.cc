#include "orrery/cluster/bounds.h"

#include <algorithm>

#include "orrery/cluster/memory.h"

namespace orrery::cluster {
namespace {

// What does not change a stage's work at its least: one replica, nothing gathered.
Plan alone(Plan plan) {
  plan.dp = 1;
  plan.zero = 0;
  plan.interleave = 1;
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
  one.schedule = Schedule::kOneFOneB;
  return stages_of(model, system, one, operators)[0].stage.tau();
}

double pipeline_bound(const Plan& plan, const Pipeline& pipe) {
  const auto m = static_cast<double>(microbatches(plan));
  double longest = 0;
  for (const Kind& kind : pipe)
    if (kind.count > 0) longest = std::max(longest, m * kind.stage.tau() + waiting(plan, pipe, kind));
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
  least.schedule = Schedule::kOneFOneB;
  least.interleave = 1;
  const Memory bytes = memory(model, least);
  return bytes.total() - bytes.buffers;
}

}  // namespace orrery::cluster
