// Each schedule is, for every stage, an order of its events; their times follow from two rules: a stage does one thing
// at a time, in its order, and an event waits for the one whose result it needs.
//
//   GPipe        F x m, B x m                                                    (arXiv 1811.06965)
//   1F1B         F x (p - 1 - i), then F B in turn, then the B that remain       (PipeDream-Flush)
//   interleaved  F x 2 (p - 1 - i) + (v - 1) p first; events walk through chunks
//                in groups of p microbatches, or of as many as the software has  (Narayanan 2021, sec. 2.2)
//   zero-bubble  as 1F1B, and W of the i-th microbatch before follows each B; the
//                W that remain come last                                         (ZB-H1, arXiv 2401.10241)
//   DualPipe     dualpipe.h; ZB-V, V-Half, V-Min: v_schedules.h
//
// Cost: linear in the events for every sweep over the stages, and each sweep completes at least one event; in practice
// a few sweeps per microbatch.
#include "orrery/engines/cluster/pipeline/schedule.h"

#include <algorithm>
#include <tuple>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/cluster/pipeline/dualpipe.h"
#include "orrery/engines/cluster/pipeline/v_schedules.h"

namespace orrery::cluster {
namespace {

using base::Count;

struct ScheduleStep {
  Work work = Work::kForward;
  int chunk = 0;
  Count microbatch = 0;
};

// The k-th forward (or backward) of an interleaved stage: m microbatches in groups, the last of which may be smaller.
ScheduleStep interleaved_step(Work work, Count k, Count m, Count group, Count chunks) {
  const Count begin = k / (group * chunks) * group;
  const Count size = std::min(group, m - begin);
  const Count within = k - begin * chunks;
  const auto chunk = static_cast<int>(within / size);
  return {work, work == Work::kForward ? chunk : static_cast<int>(chunks) - 1 - chunk, begin + within % size};
}

std::vector<ScheduleStep> order_of(Count stage, Count stages, Count m, Count chunks, Count group, Schedule schedule) {
  std::vector<ScheduleStep> order;
  const Count all = m * chunks;
  const auto step = [&](Work work, Count k) {
    return chunks > 1 ? interleaved_step(work, k, m, group, chunks) : ScheduleStep{work, 0, k};
  };
  Count warm_up = std::min(all, stages - 1 - stage);
  if (chunks > 1) warm_up = std::min(all, 2 * (stages - 1 - stage) + (chunks - 1) * group);
  if (schedule == Schedule::kGpipe) warm_up = all;
  for (Count k = 0; k < warm_up; ++k) order.push_back(step(Work::kForward, k));
  for (Count k = 0; k < all; ++k) {
    if (warm_up + k < all) order.push_back(step(Work::kForward, warm_up + k));
    order.push_back(step(Work::kBackward, k));
    if (schedule == Schedule::kZeroBubble && k >= stage) order.push_back(step(Work::kWeightGradient, k - stage));
  }
  if (schedule == Schedule::kZeroBubble) {
    for (Count k = std::max<Count>(0, all - stage); k < all; ++k) order.push_back(step(Work::kWeightGradient, k));
  }
  return order;
}

class ScheduleSimulation {
 public:
  ScheduleSimulation(const std::vector<StageWork>& stages, Count m, Count chunks, Count group, Schedule schedule,
                     double boundary)
      : stages_(stages), m_(m), chunks_(chunks), boundary_(boundary) {
    const auto p = static_cast<Count>(stages.size());
    ends_.assign(static_cast<std::size_t>(3 * p * chunks * m), -1);
    free_.assign(stages.size(), 0);
    next_.assign(stages.size(), 0);
    for (Count i = 0; i < p; ++i) orders_.push_back(order_of(i, p, m, chunks, group, schedule));
  }

  std::vector<StageEvent> run() {
    for (bool advanced = true; advanced;) {
      advanced = false;
      for (int stage = 0; stage < static_cast<int>(stages_.size()); ++stage) {
        while (next_[stage] < orders_[stage].size() && advance(stage)) advanced = true;
      }
    }
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      ORRERY_CHECK(next_[i] == orders_[i].size(), "a pipeline schedule waits for itself");
    }
    std::stable_sort(events_.begin(), events_.end(), [](const StageEvent& a, const StageEvent& b) {
      return std::tie(a.start_s, a.stage) < std::tie(b.start_s, b.stage);
    });
    return std::move(events_);
  }

 private:
  double& end_of(Work work, int stage, int chunk, Count microbatch) {
    const auto p = static_cast<Count>(stages_.size());
    return ends_[((static_cast<Count>(work) * p + stage) * chunks_ + chunk) * m_ + microbatch];
  }

  // When the result that `step` needs is available; negative: not yet known.
  double ready(int stage, const ScheduleStep& step) {
    const int last = static_cast<int>(stages_.size()) - 1;
    const int last_chunk = static_cast<int>(chunks_) - 1;
    const auto [work, chunk, microbatch] = step;
    switch (work) {
      case Work::kForward:
        if (stage > 0) return end_of(work, stage - 1, chunk, microbatch);
        return chunk > 0 ? end_of(work, last, chunk - 1, microbatch) : 0;
      case Work::kBackward:
        if (stage < last) return end_of(work, stage + 1, chunk, microbatch);
        if (chunk < last_chunk) return end_of(work, 0, chunk + 1, microbatch);
        return end_of(Work::kForward, stage, chunk, microbatch);
      case Work::kWeightGradient:
        break;
    }
    return end_of(Work::kBackward, stage, chunk, microbatch);
  }

  bool advance(int stage) {
    const ScheduleStep step = orders_[stage][next_[stage]];
    const double needed = ready(stage, step);
    if (needed < 0) return false;
    const StageWork& work = stages_[stage];
    double seconds = step.work == Work::kForward    ? work.forward
                     : step.work == Work::kBackward ? work.backward
                                                    : work.weight_gradient;
    seconds /= static_cast<double>(chunks_);
    if (step.work != Work::kWeightGradient) seconds += boundary_;
    const double start = std::max(needed, free_[stage]);
    free_[stage] = end_of(step.work, stage, step.chunk, step.microbatch) = start + seconds;
    events_.push_back({stage, step.chunk, step.microbatch, step.work, start, start + seconds});
    ++next_[stage];
    return true;
  }

  const std::vector<StageWork>& stages_;
  Count m_, chunks_;
  double boundary_;
  std::vector<std::vector<ScheduleStep>> orders_;
  std::vector<std::size_t> next_;
  std::vector<double> free_;  // when a stage can begin its next event
  std::vector<double> ends_;  // by work, stage, chunk, microbatch; -1: has not happened
  std::vector<StageEvent> events_;
};

}  // namespace

std::vector<StageEvent> simulate(const std::vector<StageWork>& stages, Count microbatches, Count interleave,
                                 Schedule schedule, double boundary_s, Count group) {
  if (stages.empty() || microbatches < 1) return {};
  if (schedule == Schedule::kDualPipe) return simulate_dualpipe(stages, microbatches, boundary_s);
  if (folded(schedule) && stages.size() > 1) {
    std::vector<VWork> halves;
    for (const StageWork& stage : stages) {
      const StageWork half = {stage.forward / 2, stage.backward / 2, stage.weight_gradient / 2};
      halves.push_back({half, half});
    }
    return simulate_v(halves, microbatches, schedule, boundary_s);
  }
  if (folded(schedule)) schedule = Schedule::kZeroBubble;  // of one stage the same
  if (group == 0) group = static_cast<Count>(stages.size());
  return ScheduleSimulation(stages, microbatches, interleave, group, schedule, boundary_s).run();
}

std::vector<StageEvent> simulate(const Iteration& iteration, const Plan& plan) {
  const bool split = defers_weights(plan.schedule);
  std::vector<StageWork> stages;
  std::vector<VWork> halves;
  for (Count i = 0; i < plan.pp; ++i) {
    const StageTimes& times = i == 0 ? iteration.first : i == plan.pp - 1 ? iteration.last : iteration.middle;
    const double weight = split ? times.weight_gradient : 0;
    stages.push_back({times.forward, times.backward - weight, weight, times.apart});
    const StageWork up = {times.second_forward, times.second_backward - times.second_weight_gradient,
                          times.second_weight_gradient};
    const StageWork& both = stages.back();
    halves.push_back({{both.forward - up.forward, both.backward - up.backward, weight - up.weight_gradient}, up});
  }
  if (folded(plan.schedule) && plan.pp > 1)
    return simulate_v(halves, microbatches(plan), plan.schedule, iteration.boundary_s);
  const Count group = plan.interleave > 1 ? microbatch_group(plan) : 0;
  return simulate(stages, microbatches(plan), plan.interleave, plan.schedule, iteration.boundary_s, group);
}

double makespan(const std::vector<StageEvent>& events) {
  double last = 0;
  for (const StageEvent& event : events) last = std::max(last, event.end_s);
  return last;
}

}  // namespace orrery::cluster
