#include "orrery/engines/cluster/pipeline/v_schedules.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace orrery::cluster {
namespace {

using base::Count;

constexpr Schedule kAll[] = {Schedule::kZbV, Schedule::kVHalf, Schedule::kVMin};

std::vector<VWork> alike(int accelerators, StageWork chunk) {
  return std::vector<VWork>(static_cast<std::size_t>(accelerators), VWork{chunk, chunk});
}

StageWork any_chunk() {
  return {*rc::gen::inRange(1, 50) / 8.0, *rc::gen::inRange(1, 50) / 8.0, *rc::gen::inRange(1, 50) / 8.0};
}

double waits(Schedule schedule, int p, int m, StageWork chunk) {
  return v_seconds(alike(p, chunk), m, schedule) - 2 * m * (chunk.forward + chunk.backward + chunk.weight_gradient);
}

// Chunks whose activations lie on an accelerator, at most: from their forward to the end of their weight gradients.
int most_held(const std::vector<StageEvent>& events, int accelerator) {
  int held = 0, most = 0;
  for (const StageEvent& event : events) {
    if (event.stage != accelerator || event.work == Work::kBackward) continue;
    held += event.work == Work::kForward ? 1 : -1;
    most = std::max(most, held);
  }
  return most;
}

// What the path of a microbatch says, of any events: down the accelerators and up again, and the same way back.
RC_GTEST_PROP(VSchedules, EveryPassIsDoneOnceAfterWhatItNeedsAndNoAcceleratorDoesTwoThingsAtOnce, ()) {
  const Schedule schedule = *rc::gen::elementOf(std::vector<Schedule>(std::begin(kAll), std::end(kAll)));
  const int p = *rc::gen::inRange(2, 10), m = *rc::gen::inRange(1, 40);
  const double boundary = *rc::gen::inRange(0, 4) / 8.0;
  std::vector<VWork> works;
  for (int i = 0; i < p; ++i) works.push_back({any_chunk(), any_chunk()});
  using Pass = std::tuple<Work, int, Count>;  // the place of a chunk in the model, a microbatch
  std::map<Pass, StageEvent> done;
  std::vector<double> busy(static_cast<std::size_t>(p), 0);
  for (const StageEvent& event : simulate_v(works, m, schedule, boundary)) {
    const int place = event.chunk == 0 ? event.stage : 2 * p - 1 - event.stage;
    RC_ASSERT((done.emplace(Pass{event.work, place, event.microbatch}, event).second));
    RC_ASSERT(event.start_s >= busy[static_cast<std::size_t>(event.stage)] - 1e-9);
    busy[static_cast<std::size_t>(event.stage)] = event.end_s;
    const VWork& both = works[static_cast<std::size_t>(event.stage)];
    const StageWork& work = event.chunk == 0 ? both.down : both.up;
    const double seconds = event.work == Work::kForward    ? work.forward + boundary
                           : event.work == Work::kBackward ? work.backward + boundary
                                                           : work.weight_gradient;
    RC_ASSERT(std::abs(event.end_s - event.start_s - seconds) < 1e-9);
  }
  RC_ASSERT(done.size() == static_cast<std::size_t>(6 * p * m));
  for (const auto& [pass, event] : done) {
    const auto [work, place, microbatch] = pass;
    std::vector<Pass> needs;
    if (work == Work::kForward && place > 0) needs.push_back({work, place - 1, microbatch});
    if (work == Work::kBackward) needs.push_back({Work::kForward, place, microbatch});
    if (work == Work::kBackward && place < 2 * p - 1) needs.push_back({work, place + 1, microbatch});
    if (work == Work::kWeightGradient) needs.push_back({Work::kBackward, place, microbatch});
    for (const Pass& need : needs) RC_ASSERT(done.at(need).end_s <= event.start_s + 1e-9);
  }
}

// The papers' figures of equal passes: arXiv 2401.10241 of ZB-V, arXiv 2405.15362 (its table of waits and memory) of
// the other two, whose waits are 2/3 and 1/2 of 1F1B's 6 (p - 1) where there are many accelerators.
TEST(VSchedules, OfEqualPassesWaitAndHoldAsTheirPapersSay) {
  for (int p = 2; p <= 24; ++p) {
    const int m = 4 * p;
    EXPECT_DOUBLE_EQ(waits(Schedule::kZbV, p, m, {1, 1, 1}), p - 1) << p;
    EXPECT_NEAR(waits(Schedule::kVHalf, p, m, {1, 1, 1}), 3.5 * p, 0.5 * p + 3) << p;
    EXPECT_LE(waits(Schedule::kVMin, p, m, {1, 1, 1}), 4 * p) << p;
    EXPECT_GE(waits(Schedule::kVMin, p, m, {1, 1, 1}), 4 * p - 6) << p;
    for (const Schedule schedule : kAll) {
      const auto events = simulate_v(alike(p, {1, 1, 1}), m, schedule);
      int most = 0;
      for (int i = 0; i < p; ++i) most = std::max(most, most_held(events, i));
      EXPECT_EQ(most, 2 * v_held(schedule, p)) << p << " schedule " << static_cast<int>(schedule);
    }
  }
}

RC_GTEST_PROP(VSchedules, HoldNoMoreThanTheMemoryModelSaysWhateverThePassesTake, ()) {
  const Schedule schedule = *rc::gen::elementOf(std::vector<Schedule>(std::begin(kAll), std::end(kAll)));
  const int p = *rc::gen::inRange(2, 12), m = *rc::gen::inRange(1, 40);
  const auto events = simulate_v(alike(p, any_chunk()), m, schedule);
  for (int i = 0; i < p; ++i) RC_ASSERT(most_held(events, i) <= 2 * std::min<Count>(m, v_held(schedule, p)));
}

// What the model adds for transfers, which its stages' seconds leave out.
RC_GTEST_PROP(VSchedules, TransfersOfEqualPassesAreWaitedForAsOftenAsTheModelSays, ()) {
  const Schedule schedule = *rc::gen::elementOf(std::vector<Schedule>(std::begin(kAll), std::end(kAll)));
  const int p = *rc::gen::inRange(2, 14), m = *rc::gen::inRange(1, 60);
  const double boundary = *rc::gen::inRange(1, 9) / 32.0;
  const std::vector<VWork> works = alike(p, {1, 1, 1});
  const double longer = makespan(simulate_v(works, m, schedule, boundary)) - makespan(simulate_v(works, m, schedule));
  RC_ASSERT(std::abs(longer - (4 * m + v_crossings(schedule, p, m)) * boundary) < 1e-9 * longer);
}

// From a few microbatches to many: the same as event by event.
RC_GTEST_PROP(VSchedules, TimeOfManyMicrobatchesIsThatOfAllTheirEvents, ()) {
  const Schedule schedule = *rc::gen::elementOf(std::vector<Schedule>(std::begin(kAll), std::end(kAll)));
  const int p = *rc::gen::inRange(2, 9), m = *rc::gen::inRange(1, 300);
  std::vector<VWork> works = alike(p, any_chunk());
  works.front() = {any_chunk(), any_chunk()};
  if (*rc::gen::arbitrary<bool>()) works.back() = {any_chunk(), any_chunk()};
  const double all = makespan(simulate_v(works, m, schedule));
  RC_ASSERT(std::abs(v_seconds(works, m, schedule) - all) <= 1e-8 * all);
}

RC_GTEST_PROP(VSchedules, NothingThatGetsFasterMakesTheWholeSlower, ()) {
  const Schedule schedule = *rc::gen::elementOf(std::vector<Schedule>(std::begin(kAll), std::end(kAll)));
  const int p = *rc::gen::inRange(2, 9), m = *rc::gen::inRange(1, 80);
  std::vector<VWork> works;
  for (int i = 0; i < p; ++i) works.push_back({any_chunk(), any_chunk()});
  const double before = v_seconds(works, m, schedule);
  StageWork& one = works[static_cast<std::size_t>(*rc::gen::inRange(0, p))].up;
  double& part = **rc::gen::element(&one.forward, &one.backward, &one.weight_gradient);
  part *= *rc::gen::inRange(0, 8) / 8.0;
  RC_ASSERT(v_seconds(works, m, schedule) <= before * (1 + 1e-9));
}

// The condition under which V-Half keeps all accelerators busy (arXiv 2405.15362), and that V-Min has none: one
// microbatch more costs the work of one, or more than that.
TEST(VSchedules, VHalfHasSlackForUnequalPassesAndVMinHasNone) {
  const int p = 8;
  const auto each = [&](Schedule schedule, StageWork chunk) {
    return (v_seconds(alike(p, chunk), 400, schedule) - v_seconds(alike(p, chunk), 300, schedule)) / 100 -
           2 * (chunk.forward + chunk.backward + chunk.weight_gradient);
  };
  for (const StageWork chunk : {StageWork{1, 1, 1}, {1, 1.3, 0.8}, {1.2, 1, 0.7}, {1, 1.4, 1}}) {
    EXPECT_NEAR(each(Schedule::kZbV, chunk), 0, 1e-9);
    EXPECT_NEAR(each(Schedule::kVHalf, chunk), 0, 1e-9);
  }
  EXPECT_NEAR(each(Schedule::kVMin, {1, 1, 1}), 0, 1e-9);
  EXPECT_GT(each(Schedule::kVMin, {1, 1.3, 0.8}), 0.1);
  EXPECT_GT(each(Schedule::kVMin, {1, 1, 0.5}), 0.1);
}

}  // namespace
}  // namespace orrery::cluster
