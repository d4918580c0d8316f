#include "orrery/engines/cluster/search/bounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"
#include "orrery/engines/cluster/search/plan_search_test_util.h"

namespace orrery::cluster {
namespace {

// If one of these fails, evaluate() or memory() has a term that makes a plan cheaper than the bound of its set believes
// possible: the bound in bounds.cc has to leave that term out, or take it at its least.
RC_GTEST_PROP(Bounds, NoIterationIsShorterThanAllLayersOnItsAccelerators, (const Training& run)) {
  const Model model = run.model;
  const machine::Roofline operators(run.system.accelerator);
  const double seconds = evaluate(model, run.system, run.plan, operators).iteration_s;
  const double m = whole_microbatches(run.plan);
  const double whole = whole_seconds(model, run.system, run.plan, operators);
  RC_ASSERT(m * whole / static_cast<double>(run.plan.pp) <= seconds * (1 + kRounding));
  const double peak = peak_seconds(model, run.system, run.plan, operators);
  RC_ASSERT(peak > 0);
  const auto batch = static_cast<double>(run.plan.global_batch), gpus = static_cast<double>(run.plan.gpus);
  RC_ASSERT(batch / gpus * peak <= seconds * (1 + kRounding));
}

RC_GTEST_PROP(Bounds, NoIterationIsShorterThanItsStages, (const Training& run)) {
  const Model model = run.model;
  const machine::Roofline operators(run.system.accelerator);
  const double seconds = evaluate(model, run.system, run.plan, operators).iteration_s;
  const Pipeline pipe = stages_of(model, run.system, run.plan, operators);
  RC_ASSERT(turns_bound(pipe, whole_microbatches(run.plan)) <= seconds * (1 + kRounding));
  RC_ASSERT(pipeline_bound(model, run.plan, pipe) <= seconds * (1 + kRounding));
  Plan plain = run.plan;
  if (folded(plain.schedule))
    plain.schedule = Schedule::kZbV;  // which spreads layers as no other turns do
  else if (plain.schedule != Schedule::kDualPipe)
    plain.schedule = Schedule::kOneFOneB;
  const Pipeline other = stages_of(model, run.system, plain, operators);
  RC_ASSERT(turns_bound(other, whole_microbatches(run.plan)) <= seconds * (1 + kRounding));
}

RC_GTEST_PROP(Bounds, NoIterationIsShorterThanItsStagesAndWhatNothingHides, (const Training& run)) {
  const Model model = run.model;
  const machine::Roofline operators(run.system.accelerator);
  Plan plan = run.plan;
  plan.stack.stragglers = *rc::gen::inRange(0, 3) * 0.01;
  plan.stack.contention = *rc::gen::inRange(0, 3) * 0.25;
  const double seconds = evaluate(model, run.system, plan, operators).iteration_s;
  const Pipeline pipe = stages_of(model, run.system, plan, operators);
  const double outside = outside_bound(model, run.system, plan, operators);
  const double late = late_share(run.system, plan);
  RC_ASSERT(pipeline_bound(model, plan, pipe, late) + outside <= seconds * (1 + kRounding));
  RC_ASSERT(turns_bound(pipe, whole_microbatches(plan), late) + outside <= seconds * (1 + kRounding));
  Plan plain = plan;  // what it knows of turns
  if (plain.schedule != Schedule::kDualPipe && !folded(plain.schedule)) plain.schedule = Schedule::kOneFOneB;
  plain.interleave = 1;
  RC_ASSERT(outside_bound(model, run.system, plain, operators) <= outside * (1 + kRounding));
}

RC_GTEST_PROP(Bounds, NoPlaceIsNearerThanTheOwnAndNothingAgainIsLessThanSomething, (const Training& run)) {
  const Model model = run.model;
  const machine::Roofline operators(run.system.accelerator);
  Plan least = run.plan;
  least.recompute = Recompute::kNone;
  const double alone = whole_seconds_alone(model, run.system, least, operators);
  for (const Recompute again : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    Plan plan = run.plan;
    plan.recompute = again;
    RC_ASSERT(alone <= whole_seconds(model, run.system, plan, operators) * (1 + kRounding));
  }
}

RC_GTEST_PROP(Bounds, NoPlanTakesFewerBytesThanWithEverythingShardedOverAsManyReplicasOrMore, (const Training& run)) {
  const Model model = run.model;
  const double bytes = memory(model, run.plan).total();
  RC_ASSERT(memory_bound(model, run.plan) <= bytes * (1 + kRounding));
  Plan more = run.plan;
  more.dp *= *rc::gen::inRange<base::Count>(1, 5);
  more.gpus = more.tp * more.pp * more.cp * more.dp;
  more.global_batch = run.plan.global_batch;
  if (more.global_batch % (more.dp * more.micro_batch) == 0)
    RC_ASSERT(memory_bound(model, more) <= bytes * (1 + kRounding));
}

TEST(Bounds, HoldOnEveryPlanOfRandomSpaces) {
  std::size_t plans = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Draw draw(seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    const machine::Roofline operators(system.accelerator);
    const Domain domain(model, system, random_space(draw, model, system, 16, 12).space);
    domain.each([&](const Plan& plan) {
      const Iteration iteration = evaluate(model, system, plan, operators);
      const double seconds = iteration.iteration_s * (1 + kRounding);
      const double m = whole_microbatches(plan);
      const Pipeline pipe = stages_of(model, system, plan, operators);
      EXPECT_LE(m * whole_seconds(model, system, plan, operators) / static_cast<double>(plan.pp), seconds);
      const double sequences = static_cast<double>(plan.global_batch) / static_cast<double>(plan.gpus);
      EXPECT_LE(sequences * peak_seconds(model, system, plan, operators), seconds);
      const double late = late_share(system, plan);
      const double outside = outside_bound(model, system, plan, operators);
      EXPECT_LE(turns_bound(pipe, m, late) + outside, seconds);
      EXPECT_LE(pipeline_bound(model, plan, pipe, late) + outside, seconds);
      EXPECT_EQ(bytes_of(model, system, plan).total, iteration.memory.total());
      EXPECT_EQ(bytes_of(model, system, plan).in_use, iteration.memory.in_use());
      EXPECT_LE(memory_bound(model, plan), iteration.memory.total() * (1 + kRounding));
      ++plans;
      return !::testing::Test::HasFailure();
    });
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(plans, 20'000U);
}

}  // namespace
}  // namespace orrery::cluster
