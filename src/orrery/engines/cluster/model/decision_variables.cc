#include "orrery/engines/cluster/model/decision_variables.h"

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::cluster {
namespace {

constexpr std::array kSchedules = {Schedule::kOneFOneB, Schedule::kGpipe, Schedule::kZeroBubble, Schedule::kDualPipe,
                                   Schedule::kZbV,      Schedule::kVHalf, Schedule::kVMin};

base::Count place_of(Schedule schedule) {
  base::Count place = 0;
  while (kSchedules[static_cast<std::size_t>(place)] != schedule) ++place;
  return place;
}

base::Count millionths(double share) {
  return base::saturated(share * static_cast<double>(kWholeShare) + 0.5);
}

double share_of(base::Count millionths) {
  return static_cast<double>(millionths) / static_cast<double>(kWholeShare);
}

struct Row {
  const char* name;
  base::Count Plan::*count = nullptr;  // where the plan holds the value itself
};

constexpr std::array<Row, kVariables.size()> kRows = {{{"global_batch", &Plan::global_batch},
                                                       {"tp", &Plan::tp},
                                                       {"pp", &Plan::pp},
                                                       {"dp", &Plan::dp},
                                                       {"cp", &Plan::cp},
                                                       {"ep", &Plan::ep},
                                                       {"micro_batch", &Plan::micro_batch},
                                                       {"schedule"},
                                                       {"interleave", &Plan::interleave},
                                                       {"recompute"},
                                                       {"sequence_parallel"},
                                                       {"zero"},
                                                       {"expert_tp", &Plan::expert_tp},
                                                       {"shard", &Plan::shard},
                                                       {"offload_activations"},
                                                       {"offload_optimizer"},
                                                       {"order"}}};

const Row& row_of(Variable variable) {
  return kRows[static_cast<std::size_t>(variable)];
}

}  // namespace

const char* name(Variable variable) {
  return row_of(variable).name;
}

base::Count get(const Plan& plan, Variable variable) {
  if (const auto count = row_of(variable).count) return plan.*count;
  switch (variable) {
    case Variable::kSchedule:
      return place_of(plan.schedule);
    case Variable::kRecompute:
      return static_cast<base::Count>(plan.recompute);
    case Variable::kSequenceParallel:
      return plan.sequence_parallel ? 1 : 0;
    case Variable::kZero:
      return plan.zero;
    case Variable::kOffloadActivations:
      return millionths(plan.offload_activations);
    case Variable::kOffloadOptimizer:
      return millionths(plan.offload_optimizer);
    default:
      return static_cast<base::Count>(plan.order);
  }
}

void set(Plan& plan, Variable variable, base::Count value) {
  if (const auto count = row_of(variable).count) plan.*count = value;
  switch (variable) {
    case Variable::kSchedule:
      plan.schedule = kSchedules[static_cast<std::size_t>(value)];
      return;
    case Variable::kRecompute:
      plan.recompute = static_cast<Recompute>(value);
      return;
    case Variable::kSequenceParallel:
      plan.sequence_parallel = value != 0;
      return;
    case Variable::kZero:
      plan.zero = static_cast<int>(value);
      return;
    case Variable::kOffloadActivations:
      plan.offload_activations = share_of(value);
      return;
    case Variable::kOffloadOptimizer:
      plan.offload_optimizer = share_of(value);
      return;
    case Variable::kOrder:
      plan.order = static_cast<Order>(value);
      return;
    default:
      return;
  }
}

std::string value_name(Variable variable, base::Count value) {
  Plan plan;
  set(plan, variable, value);
  if (variable == Variable::kSchedule) return name_of(schedule_of(plan), schedules());
  if (variable == Variable::kOrder) return name_of(plan.order, orders());
  if (variable == Variable::kRecompute) return name_of(plan.recompute, recomputations());
  if (variable == Variable::kSequenceParallel) return value != 0 ? "true" : "false";
  if (variable == Variable::kOffloadActivations || variable == Variable::kOffloadOptimizer)
    return fmt::format("{}", share_of(value));
  return std::to_string(value);
}

bool comes_before(const Plan& a, const Plan& b) {
  if (a.gpus != b.gpus) return a.gpus < b.gpus;
  for (const Variable variable : kVariables)
    if (get(a, variable) != get(b, variable)) return get(a, variable) < get(b, variable);
  return false;
}

}  // namespace orrery::cluster
