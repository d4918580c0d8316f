// A pipeline whose messages go one after the other, event by event: every stage alternates forward and backward passes;
// before a forward it hands its last gradient to the stage in front and takes an activation from it, before a backward
// it takes a gradient from the stage behind and hands it its last activation. Both ends of a message wait for each
// other (the order of instructions of DeepSpeed's pipeline engine).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "orrery/base/diagnostics/check.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/evaluate.h"

namespace orrery::cluster {
namespace {

struct Action {
  enum Kind { kForward, kBackward, kGiveGradient, kTakeActivation, kTakeGradient, kGiveActivation } kind;
  int microbatch;
};

std::vector<Action> actions(int stage, int stages, int m) {
  std::vector<Action> list;
  const auto real = [&](int microbatch) { return microbatch >= 0 && microbatch < m; };
  int before = -1;
  for (int turn = 0; turn < 2 * (m + stages - 1); ++turn) {
    const bool forward = turn % 2 == stage % 2;
    const int own = forward ? (turn - stage) / 2 : (turn + stage + 1) / 2 - stages;
    const int microbatch = forward && turn < stage ? -1 : own;
    if (forward && stage > 0) {
      if (real(before)) list.push_back({Action::kGiveGradient, before});
      if (real(microbatch)) list.push_back({Action::kTakeActivation, microbatch});
    }
    if (!forward && stage < stages - 1) {
      if (real(microbatch)) list.push_back({Action::kTakeGradient, microbatch});
      if (real(before)) list.push_back({Action::kGiveActivation, before});
    }
    if (real(microbatch)) list.push_back({forward ? Action::kForward : Action::kBackward, microbatch});
    before = microbatch;
  }
  return list;
}

double seconds(int stages, int m, double forward, double backward, double message) {
  std::vector<std::vector<Action>> lists;
  for (int i = 0; i < stages; ++i) lists.push_back(actions(i, stages, m));
  std::vector<std::size_t> next(lists.size());
  std::vector<double> clock(lists.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < stages; ++i) {
      while (next[i] < lists[i].size()) {
        const auto [kind, microbatch] = lists[i][next[i]];
        if (kind == Action::kForward || kind == Action::kBackward) {
          clock[i] += kind == Action::kForward ? forward : backward;
        } else {
          const bool behind = kind == Action::kTakeGradient || kind == Action::kGiveActivation;
          const int other = behind ? i + 1 : i - 1;
          const Action::Kind wanted = kind == Action::kTakeGradient     ? Action::kGiveGradient
                                      : kind == Action::kGiveGradient   ? Action::kTakeGradient
                                      : kind == Action::kGiveActivation ? Action::kTakeActivation
                                                                        : Action::kGiveActivation;
          if (next[other] == lists[other].size()) break;
          const Action& answer = lists[other][next[other]];
          if (answer.kind != wanted || answer.microbatch != microbatch) break;
          clock[i] = clock[other] = std::max(clock[i], clock[other]) + message;
          ++next[other];
        }
        ++next[i];
        moved = true;
      }
    }
  }
  for (int i = 0; i < stages; ++i) ORRERY_CHECK(next[i] == lists[i].size(), "the stages wait for each other");
  return *std::max_element(clock.begin(), clock.end());
}

TEST(UnpairedMessages, WithoutTimeOfTheirOwnLeaveOneFOneBAsItIs) {
  for (const int stages : {2, 3, 8, 35})
    for (const int m : {1, 2, 8, 40}) EXPECT_DOUBLE_EQ(seconds(stages, m, 1, 3, 0), (m + stages - 1) * 4.0);
}

TEST(UnpairedMessages, AreFourForAMicrobatchAndTwoForAStageButASix) {
  for (const int stages : {4, 8, 35})
    for (const int m : {2, 8, 40, 240}) {
      const double messages = (seconds(stages, m, 1, 3, 1e-3) - (m + stages - 1) * 4.0) / 1e-3;
      EXPECT_NEAR(messages, 4 * m + 2 * (stages - 1) - 6, 1e-6) << stages << ' ' << m;
    }
}

TEST(UnpairedMessages, BetweenTwoStagesAreTwoForAMicrobatch) {
  EXPECT_NEAR((seconds(2, 40, 1, 3, 1e-3) - 41 * 4.0) / 1e-3, 80, 1e-6);
}

TEST(UnpairedMessages, ArePricedAsTheEventsHaveThemLessTheSix) {
  const System system = a100(1600);
  const Model model = gpt(96, 12288, 96, 0);
  Plan plan{.gpus = 128, .global_batch = 40, .tp = 8, .pp = 16};
  plan.paired_messages = false;
  const auto of = [&](const Plan& each) {
    return evaluate(model, system, each, machine::Roofline(system.accelerator));
  };
  const Iteration apart = of(plan);
  EXPECT_NEAR(apart.breakdown.pp_exposed / apart.boundary_s, 4 * 40 + 2 * 15, 1e-6);
  plan.paired_messages = true;
  EXPECT_NEAR(of(plan).breakdown.pp_exposed / apart.boundary_s, 2 * 40 + 2 * 15, 1e-6);
}

}  // namespace
}  // namespace orrery::cluster
