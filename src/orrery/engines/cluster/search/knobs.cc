#include "orrery/engines/cluster/search/knobs.h"

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::cluster {
namespace {

constexpr std::array kSchedules = {Schedule::kOneFOneB, Schedule::kGpipe, Schedule::kZeroBubble, Schedule::kDualPipe};

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

}  // namespace

const char* name(Knob knob) {
  static constexpr std::array kNames = {"global_batch",
                                        "tp",
                                        "pp",
                                        "dp",
                                        "cp",
                                        "ep",
                                        "micro_batch",
                                        "schedule",
                                        "interleave",
                                        "recompute",
                                        "sequence_parallel",
                                        "zero",
                                        "expert_tp",
                                        "shard",
                                        "offload_activations",
                                        "offload_optimizer",
                                        "order"};
  return kNames[static_cast<std::size_t>(knob)];
}

base::Count get(const Plan& plan, Knob knob) {
  switch (knob) {
    case Knob::kGlobalBatch:
      return plan.global_batch;
    case Knob::kTp:
      return plan.tp;
    case Knob::kPp:
      return plan.pp;
    case Knob::kDp:
      return plan.dp;
    case Knob::kCp:
      return plan.cp;
    case Knob::kEp:
      return plan.ep;
    case Knob::kMicroBatch:
      return plan.micro_batch;
    case Knob::kSchedule:
      return place_of(plan.schedule);
    case Knob::kInterleave:
      return plan.interleave;
    case Knob::kRecompute:
      return static_cast<base::Count>(plan.recompute);
    case Knob::kSequenceParallel:
      return plan.sequence_parallel ? 1 : 0;
    case Knob::kZero:
      return plan.zero;
    case Knob::kExpertTp:
      return plan.expert_tp;
    case Knob::kShard:
      return plan.shard;
    case Knob::kOffloadActivations:
      return millionths(plan.offload_activations);
    case Knob::kOffloadOptimizer:
      return millionths(plan.offload_optimizer);
    case Knob::kOrder:
      break;
  }
  return static_cast<base::Count>(plan.order);
}

void set(Plan& plan, Knob knob, base::Count value) {
  switch (knob) {
    case Knob::kGlobalBatch:
      plan.global_batch = value;
      return;
    case Knob::kTp:
      plan.tp = value;
      return;
    case Knob::kPp:
      plan.pp = value;
      return;
    case Knob::kDp:
      plan.dp = value;
      return;
    case Knob::kCp:
      plan.cp = value;
      return;
    case Knob::kEp:
      plan.ep = value;
      return;
    case Knob::kMicroBatch:
      plan.micro_batch = value;
      return;
    case Knob::kSchedule:
      plan.schedule = kSchedules[static_cast<std::size_t>(value)];
      return;
    case Knob::kInterleave:
      plan.interleave = value;
      return;
    case Knob::kRecompute:
      plan.recompute = static_cast<Recompute>(value);
      return;
    case Knob::kSequenceParallel:
      plan.sequence_parallel = value != 0;
      return;
    case Knob::kZero:
      plan.zero = static_cast<int>(value);
      return;
    case Knob::kExpertTp:
      plan.expert_tp = value;
      return;
    case Knob::kShard:
      plan.shard = value;
      return;
    case Knob::kOffloadActivations:
      plan.offload_activations = share_of(value);
      return;
    case Knob::kOffloadOptimizer:
      plan.offload_optimizer = share_of(value);
      return;
    case Knob::kOrder:
      plan.order = static_cast<Order>(value);
  }
}

std::string value_name(Knob knob, base::Count value) {
  Plan plan;
  set(plan, knob, value);
  if (knob == Knob::kSchedule) return name_of(schedule_of(plan), schedules());
  if (knob == Knob::kOrder) return name_of(plan.order, orders());
  if (knob == Knob::kRecompute) return name_of(plan.recompute, recomputations());
  if (knob == Knob::kSequenceParallel) return value != 0 ? "true" : "false";
  if (knob == Knob::kOffloadActivations || knob == Knob::kOffloadOptimizer) return fmt::format("{}", share_of(value));
  return std::to_string(value);
}

bool comes_before(const Plan& a, const Plan& b) {
  if (a.gpus != b.gpus) return a.gpus < b.gpus;
  for (const Knob knob : kKnobs)
    if (get(a, knob) != get(b, knob)) return get(a, knob) < get(b, knob);
  return false;
}

}  // namespace orrery::cluster
