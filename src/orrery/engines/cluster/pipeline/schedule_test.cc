#include "orrery/engines/cluster/pipeline/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace orrery::cluster {
namespace {

std::vector<StageWork> equal(int stages, StageWork work) {
  return std::vector<StageWork>(stages, work);
}

StageWork any_work() {
  return {*rc::gen::inRange(1, 50) / 8.0, *rc::gen::inRange(1, 50) / 8.0, *rc::gen::inRange(1, 50) / 8.0};
}

RC_GTEST_PROP(Schedule, GpipeTakesTheBatchAndOneStagePassLessThanThePipelineIsLong, ()) {
  const int p = *rc::gen::inRange(1, 9);
  const int m = *rc::gen::inRange(1, 20);
  const StageWork w = any_work();
  RC_ASSERT(makespan(simulate(equal(p, w), m, 1, Schedule::kGpipe)) == (m + p - 1) * (w.forward + w.backward));
}

RC_GTEST_PROP(Schedule, OneForwardOneBackwardWaitsAsLongAsGpipe, ()) {
  const int p = *rc::gen::inRange(1, 9);
  const int m = *rc::gen::inRange(1, 20);
  const StageWork w = any_work();
  RC_ASSERT(makespan(simulate(equal(p, w), m, 1, Schedule::kOneFOneB)) == (m + p - 1) * (w.forward + w.backward));
}

RC_GTEST_PROP(Schedule, InterleavingDividesTheBubbleByTheChunks, ()) {
  const int p = *rc::gen::inRange(2, 7);
  const int m = p * *rc::gen::inRange(1, 5);
  const int v = *rc::gen::inRange(2, 5);
  const StageWork w = any_work();
  const double chunk = (w.forward + w.backward) / v;
  const double time = makespan(simulate(equal(p, w), m, v, Schedule::kOneFOneB));
  RC_ASSERT(std::abs(time - (m * v + p - 1) * chunk) < 1e-9 * time);
}

RC_GTEST_PROP(Schedule, ZeroBubbleFillsTheWaitWithWeightGradients, ()) {
  const int p = *rc::gen::inRange(1, 9);
  const int m = p + *rc::gen::inRange(0, 12);
  const StageWork w = any_work();
  const double time = makespan(simulate(equal(p, w), m, 1, Schedule::kZeroBubble));
  const double wait = w.forward + w.backward - std::min({w.forward, w.backward, w.weight_gradient});
  RC_ASSERT(time == m * (w.forward + w.backward + w.weight_gradient) + (p - 1) * wait);
}

// As Megatron-Core and PyTorch send microbatches that the stages do not divide.
RC_GTEST_PROP(Schedule, LargerTurnsWaitAsLongAsTurnsOfOneMicrobatchAStage, ()) {
  const int p = *rc::gen::inRange(2, 7);
  const int v = *rc::gen::inRange(2, 5);
  const int group = p + *rc::gen::inRange(0, 5);
  const int last = *rc::gen::inRange(0, 2) * (p + *rc::gen::inRange(0, group - p + 1));
  const int m = group * *rc::gen::inRange(1, 4) + last;
  const StageWork w = any_work();
  const double chunk = (w.forward + w.backward) / v;
  const double time = makespan(simulate(equal(p, w), m, v, Schedule::kOneFOneB, 0, group));
  RC_ASSERT(std::abs(time - (m * v + p - 1) * chunk) < 1e-9 * time);
}

RC_GTEST_PROP(Schedule, FewerMicrobatchesThanStagesWaitAtEveryChunk, ()) {
  const int p = *rc::gen::inRange(2, 7);
  const int v = *rc::gen::inRange(2, 5);
  const int m = *rc::gen::inRange(1, p);
  const StageWork w = any_work();
  const double chunk = (w.forward + w.backward) / v;
  const double time = makespan(simulate(equal(p, w), m, v, Schedule::kOneFOneB, 0, m));
  RC_ASSERT(std::abs(time - (m * v + p - 1 + (v - 1) * (p - m)) * chunk) < 1e-9 * time);
}

// The bubble as its authors state it, and p + 1 pairs that come apart.
RC_GTEST_PROP(Schedule, DualPipeTakesThePublishedBubble, ()) {
  const int p = 2 * *rc::gen::inRange(1, 9);
  const int m = 2 * p + 2 * *rc::gen::inRange(0, 20);
  const double f = *rc::gen::inRange(1, 50) / 8.0, apart = *rc::gen::inRange(0, 20) / 32.0 * f;
  const double time =
      makespan(simulate(equal(p, {f + apart / 3, f + 2 * apart / 3, f, apart}), m, 1, Schedule::kDualPipe));
  const double pair = 3 * f;
  // Forward, input and weight work are equal where passes come apart: what is exposed is a third of each.
  const double bubble = (p / 2 - 1) * (pair + 2 * f + 2.0 / 3 * apart - 3 * f);
  RC_ASSERT(std::abs(time - (m * pair + bubble + (p + 1) * apart)) <= apart * p);
  if (apart == 0) RC_ASSERT(std::abs(time - (m * pair + bubble)) < 1e-9 * time);
}

RC_GTEST_PROP(Schedule, DualPipeDoesEveryMicrobatchOnceInEitherDirection, ()) {
  const int p = 2 * *rc::gen::inRange(1, 6);
  const int m = 2 * p + 2 * *rc::gen::inRange(0, 9);
  std::map<std::tuple<int, int, Work>, int> done;
  std::vector<double> free(static_cast<std::size_t>(p), 0);
  for (const StageEvent& event : simulate(equal(p, any_work()), m, 1, Schedule::kDualPipe)) {
    ++done[{event.stage, event.chunk, event.work}];
    RC_ASSERT(event.start_s >= free[static_cast<std::size_t>(event.stage)] - 1e-12);
    free[static_cast<std::size_t>(event.stage)] = event.end_s;
  }
  for (int stage = 0; stage < p; ++stage)
    for (int way = 0; way < 2; ++way)
      for (const Work work : {Work::kForward, Work::kBackward}) RC_ASSERT((done[{stage, way, work}]) == m / 2);
}

RC_GTEST_PROP(Schedule, TransfersProlongEveryEvent, ()) {
  const int p = *rc::gen::inRange(2, 7);
  const int v = *rc::gen::inRange(1, 4);
  const int m = p * *rc::gen::inRange(1, 5);
  const StageWork w = any_work();
  const double boundary = *rc::gen::inRange(1, 9) / 8.0;
  const auto time = [&](double b) { return makespan(simulate(equal(p, w), m, v, Schedule::kOneFOneB, b)); };
  RC_ASSERT(std::abs(time(boundary) - time(0) - 2 * (m * v + p - 1) * boundary) < 1e-9 * time(boundary));
}

RC_GTEST_PROP(Schedule, NoStageDoesTwoThingsAtOnceAndResultsComeBeforeTheirUse, ()) {
  const int p = *rc::gen::inRange(1, 6);
  const int v = *rc::gen::inRange(1, 4);
  const int m = p * *rc::gen::inRange(1, 4);
  std::vector<StageWork> stages;
  for (int i = 0; i < p; ++i) stages.push_back(any_work());
  const auto events = simulate(stages, m, p > 1 ? v : 1, Schedule::kOneFOneB);
  RC_ASSERT(static_cast<int>(events.size()) == 2 * p * m * (p > 1 ? v : 1));
  std::map<int, double> busy_until;
  std::map<std::tuple<int, int, base::Count>, double> forward_end;
  for (const StageEvent& event : events) {
    RC_ASSERT(event.start_s >= busy_until[event.stage]);
    busy_until[event.stage] = event.end_s;
    const auto key = std::tuple(event.stage, event.chunk, event.microbatch);
    if (event.work == Work::kForward) {
      forward_end[key] = event.end_s;
      if (event.stage > 0) {
        const auto before = std::tuple(event.stage - 1, event.chunk, event.microbatch);
        RC_ASSERT(forward_end.contains(before));
        RC_ASSERT(event.start_s >= forward_end[before]);
      }
    } else {
      RC_ASSERT(forward_end.contains(key));
      RC_ASSERT(event.start_s >= forward_end[key]);
    }
  }
}

RC_GTEST_PROP(Schedule, EveryStageHoldsAsManyMicrobatchesAsTheMemoryModelSays, ()) {
  const int p = *rc::gen::inRange(2, 7);
  const int v = *rc::gen::inRange(1, 4);
  const int m = p * *rc::gen::inRange(1, 5);
  const int stage = *rc::gen::inRange(0, p);
  int held = 0;
  int most = 0;
  for (const StageEvent& event : simulate(equal(p, {1, 1, 0}), m, v, Schedule::kOneFOneB)) {
    if (event.stage != stage) continue;
    held += event.work == Work::kForward ? 1 : -1;
    most = std::max(most, held);
  }
  const int chunks = v == 1 ? p - stage : (v - 1) * p + 2 * (p - stage) - 1;
  RC_ASSERT(most == std::min(chunks, m * v));
}

}  // namespace
}  // namespace orrery::cluster
