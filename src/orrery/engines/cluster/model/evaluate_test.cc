#include "orrery/engines/cluster/model/evaluate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/flops.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"
#include "orrery/engines/cluster/pipeline/schedule.h"

namespace orrery::cluster {
namespace {

Iteration evaluated_of_evaluate(const Training& run) {
  return evaluate(run.model, run.system, run.plan, machine::Roofline(run.system.accelerator));
}

// Not longer, rounding apart.
bool not_longer(double a, double b) {
  return a <= b * (1 + 1e-12);
}

RC_GTEST_PROP(Evaluate, RandomRunsArePossible, (const Training& run)) {
  RC_ASSERT(possible(run.model, run.system, run.plan));
}

RC_GTEST_PROP(Evaluate, TheTenTermsSumToTheIterationAndNoneIsNegative, (const Training& run)) {
  const Iteration it = evaluated_of_evaluate(run);
  const Breakdown& b = it.breakdown;
  const double terms[] = {b.forward,    b.backward,   b.recompute,  b.optimizer,  b.tp_exposed,
                          b.pp_exposed, b.dp_exposed, b.ep_exposed, b.cp_exposed, b.bubble};
  double sum = 0;
  for (const double term : terms) {
    RC_ASSERT(std::isfinite(term));
    RC_ASSERT(term >= 0);
    sum += term;
  }
  RC_ASSERT(sum == it.iteration_s);
  const HiddenCommunication& h = it.hidden;
  for (const double term : {h.tp, h.pp, h.dp, h.ep, h.cp}) RC_ASSERT(term >= 0);
}

RC_GTEST_PROP(Evaluate, FasterHardwareNeverHurts, (const Training& run)) {
  const double before = evaluated_of_evaluate(run).iteration_s;
  const double factor = 1 + *rc::gen::inRange(1, 40) / 10.0;
  Training better = run;
  machine::Accelerator& chip = better.system.accelerator;
  auto& levels = better.system.fabric.levels;
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      for (double& peak : chip.peak_flops_per_s) peak *= factor;
      break;
    case 1:
      chip.memory_bytes_per_s *= factor;
      break;
    case 2:
      chip.host_seconds_per_op /= factor;
      break;
    case 3:
      levels[0].bytes_per_s *= factor;
      break;
    case 4:
      levels[1].bytes_per_s *= factor;
      break;
    case 5:
      levels[1].latency_s /= factor;
      break;
    case 6:
      levels[0].collective_s /= factor;
      levels[1].collective_s /= factor;
      levels[0].message_s /= factor;
      break;
    default:
      better.system.calibration.jitter_seconds /= factor;
  }
  RC_ASSERT(not_longer(evaluated_of_evaluate(better).iteration_s, before));
}

RC_GTEST_PROP(Evaluate, MoreOverlapNeverHurtsAndHidesWhatItNoLongerExposes, (const Training& run)) {
  Training exposed = run;
  exposed.plan.overlap = {};
  const Iteration without = evaluated_of_evaluate(exposed);
  const Iteration with = evaluated_of_evaluate(run);
  // Device and host overlap too, so that an exposed second can cost less than one.
  RC_ASSERT(not_longer(with.iteration_s, without.iteration_s));
  const Breakdown& a = with.breakdown;
  const Breakdown& b = without.breakdown;
  const auto equal = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(x, y) + 1e-15; };
  if (run.plan.pp == 1) {
    RC_ASSERT(equal(a.tp_exposed + with.hidden.tp, b.tp_exposed));
    RC_ASSERT(equal(a.ep_exposed + with.hidden.ep, b.ep_exposed));
    RC_ASSERT(equal(a.cp_exposed + with.hidden.cp, b.cp_exposed));
  }
  // DualPipe hides what goes between stages whatever the software overlaps.
  RC_ASSERT(equal(a.pp_exposed + with.hidden.pp, b.pp_exposed + without.hidden.pp));
  RC_ASSERT(equal(a.dp_exposed + with.hidden.dp, b.dp_exposed));
}

RC_GTEST_PROP(Evaluate, OneAcceleratorCommunicatesNothing, (Training run)) {
  Plan& plan = run.plan;
  plan.gpus = plan.tp = plan.pp = plan.dp = plan.cp = plan.ep = plan.interleave = 1;
  const Iteration it = evaluated_of_evaluate(run);
  const Breakdown& b = it.breakdown;
  RC_ASSERT(b.tp_exposed + b.pp_exposed + b.dp_exposed + b.ep_exposed + b.cp_exposed + b.bubble == 0);
  RC_ASSERT(it.hidden.tp + it.hidden.pp + it.hidden.dp + it.hidden.ep + it.hidden.cp == 0);
}

RC_GTEST_PROP(Evaluate, MoreTensorParallelismNeverNeedsMoreMemory, (Training run)) {
  RC_PRE(run.plan.tp < 16);
  const Memory before = evaluated_of_evaluate(run).memory;
  const StageParameters params = stage_parameters(run.model, run.plan, 0);
  run.plan.tp *= 2;
  run.plan.gpus *= 2;
  const Memory after = evaluated_of_evaluate(run).memory;
  RC_ASSERT(stage_parameters(run.model, run.plan, 0).dense < params.dense);
  RC_ASSERT(not_longer(after.total(), before.total()));
}

RC_GTEST_PROP(Evaluate, EveryStageOfZeroNeverNeedsMoreMemory, (Training run)) {
  RC_PRE(run.plan.zero < 3);
  const double before = evaluated_of_evaluate(run).memory.total();
  ++run.plan.zero;
  RC_ASSERT(not_longer(evaluated_of_evaluate(run).memory.total(), before));
}

RC_GTEST_PROP(Evaluate, MoreRecomputationNeverNeedsMoreMemoryNorLessTime, (Training run)) {
  run.plan.overlap = {};
  run.plan.recompute = Recompute::kNone;
  const Iteration none = evaluated_of_evaluate(run);
  run.plan.recompute = Recompute::kSelective;
  const Iteration selective = evaluated_of_evaluate(run);
  run.plan.recompute = Recompute::kFull;
  const Iteration full = evaluated_of_evaluate(run);
  RC_ASSERT(not_longer(selective.memory.total(), none.memory.total()));
  RC_ASSERT(not_longer(full.memory.total(), selective.memory.total()));
  RC_ASSERT(not_longer(none.iteration_s, selective.iteration_s));
  RC_ASSERT(not_longer(selective.iteration_s, full.iteration_s));
  RC_ASSERT(none.breakdown.recompute == 0);
}

RC_GTEST_PROP(Evaluate, MoreCapacityNeverMakesARunNotFit, (Training run)) {
  const Iteration before = evaluated_of_evaluate(run);
  RC_ASSERT(before.fits == (before.memory.total() <= before.capacity_bytes));
  RC_ASSERT(before.fits == (before.excess_bytes == 0));
  run.system.accelerator.memory_bytes *= 2;
  const Iteration after = evaluated_of_evaluate(run);
  RC_ASSERT(after.iteration_s == before.iteration_s);
  RC_ASSERT(after.fits || !before.fits);
  RC_ASSERT(after.excess_bytes <= before.excess_bytes);
}

RC_GTEST_PROP(Evaluate, AnEvenPipelineEndsWhenItsSimulationDoes, (Training run)) {
  run.model.vocab = 0;  // embedding and logits make the end stages longer
  run.model.experts.dense_layers = 0;
  run.model.layers = (run.model.layers / run.plan.pp) * run.plan.pp;
  RC_PRE(run.model.layers >= run.plan.pp * run.plan.interleave);
  RC_PRE(run.model.layers / run.plan.pp % run.plan.interleave == 0);  // the simulation's chunks are equal
  RC_PRE(run.model.experts.every == 1 || run.model.experts.count == 0);
  Iteration it = evaluated_of_evaluate(run);
  if (folded(run.plan.schedule) && run.plan.pp > 1) {
    // Event by event but for transfers, which are exact where all passes are equal alone.
    it.boundary_s = 0;
    const double end = makespan(simulate(it, run.plan)) + it.breakdown.pp_exposed + it.drain_s;
    RC_ASSERT(std::abs(end - it.iteration_s) <= 1e-9 * it.iteration_s);
    return;
  }
  // Transfers count as waits; behind weight gradients that are longer than the other passes some of them vanish.
  const StageTimes& stage = it.first;
  RC_PRE(stage.weight_gradient <= std::min(stage.forward, stage.backward - stage.weight_gradient));
  const double simulated = makespan(simulate(it, run.plan));
  // DualPipe's closed form is exact where forward, input and weight passes take the same time.
  const double tolerance = run.plan.schedule == Schedule::kDualPipe ? 0.09 : 1e-9;
  RC_ASSERT(std::abs(simulated + it.drain_s - it.iteration_s) <= tolerance * it.iteration_s);
}

RC_GTEST_PROP(Evaluate, AnyPipelineEndsNearlyWhenItsSimulationDoes, (Training run)) {
  run.model.layers += 8 * run.plan.pp;
  run.model.layers -= run.model.layers % run.plan.pp;
  const Iteration it = evaluated_of_evaluate(run);
  const double simulated = makespan(simulate(it, run.plan)) + it.drain_s;
  RC_ASSERT(std::abs(simulated / it.iteration_s - 1) < 0.10);
}

RC_GTEST_PROP(Evaluate, TheStepIsThatOfTheStageWithMostParameters, (Training run)) {
  run.plan.zero = 0;
  double most = 0;
  for (base::Count stage = 0; stage < run.plan.pp; ++stage) {
    const StageParameters own = stage_parameters(run.model, run.plan, stage);
    most = std::max(most, own.dense + own.experts);
  }
  const Calibration& constants = run.system.calibration;
  const double step =
      machine::Roofline(run.system.accelerator).memory_bound_seconds(constants.optimizer_bytes_per_param * most);
  const double expected = step + constants.iteration_seconds;
  RC_ASSERT(std::abs(evaluated_of_evaluate(run).breakdown.optimizer - expected) <= 1e-12 * expected);
}

// What is done takes at least its time at the peak, and what is the model's is part of what is done.
RC_GTEST_PROP(Evaluate, UtilisationsAreShares, (const Training& run)) {
  const Iteration it = evaluated_of_evaluate(run);
  RC_ASSERT(0 < it.done.mfu);
  RC_ASSERT(it.done.mfu <= it.done.hfu * (1 + 1e-12));
  RC_ASSERT(it.done.hfu <= 1);
  RC_ASSERT(it.done.mfu <= it.published.mfu * (1 + 1e-12));
  const bool once = run.plan.recompute == Recompute::kNone && run.model.attention == Attention::kMaterialised;
  RC_ASSERT(!once || std::abs(it.done.mfu - it.done.hfu) <= 1e-12 * it.done.hfu);
  RC_ASSERT(once || it.done.mfu < it.done.hfu);
}

// Of an ideal machine nothing but the products' time is left, so that FLOP and time must agree to the last product.
RC_GTEST_PROP(Evaluate, OnAnIdealMachineTheProductsTakeWhatTheirFlopsTakeAtThePeak, (Training run)) {
  Plan& plan = run.plan;
  plan.gpus = plan.tp = plan.pp = plan.dp = plan.cp = plan.ep = plan.interleave = 1;
  plan.schedule = Schedule::kOneFOneB;
  run.model.experts = {};  // their rows are rounded up
  machine::Accelerator& chip = run.system.accelerator;
  chip.memory_bytes_per_s = 1e30;
  chip.host_seconds_per_op = 0;
  run.system.calibration = {};
  run.model.vocab = 128 * *rc::gen::inRange<base::Count>(0, 300);  // padded to this
  const machine::FlatEfficiency ideal(chip, 1);
  const Iteration it = evaluate(run.model, run.system, plan, ideal);
  // FlashAttention's backward pass reaches 0.86 of the forward's rate.
  if (run.model.attention == Attention::kMaterialised) RC_ASSERT(std::abs(it.done.hfu - 1) <= 1e-6);
  RC_ASSERT(it.done.hfu <= 1 + 1e-9);
  RC_ASSERT(it.done.hfu >= 0.86);
}

TEST(Evaluate, FlashAttentionSkipsWhatACausalMaskHidesInTimeAndInFlopsAlike) {
  // 128 ki tokens at width 2048: nearly all of the work is attention. Counted in full it came to 108 %.
  Training run{gpt(16, 2048, 24, 51200, 131072), a100(1600), {}};
  run.model.attention = Attention::kFlash;
  run.plan.gpus = run.plan.dp = run.plan.global_batch = 8;
  run.plan.zero = 3;
  run.plan.recompute = Recompute::kFull;
  run.plan.overlap.dp = 1;
  const Iteration causal = evaluated_of_evaluate(run);
  EXPECT_LE(causal.done.hfu, 0.844);
  run.model.causal = false;
  const Iteration whole = evaluated_of_evaluate(run);
  EXPECT_GT(whole.iteration_s, 1.7 * causal.iteration_s);
  EXPECT_NEAR(whole.done.hfu / causal.done.hfu, 1, 0.05) << "twice the work takes twice the time";
  EXPECT_DOUBLE_EQ(whole.done.mfu, whole.published.mfu) << "without a mask papers' count is what is done";
}

TEST(Evaluate, UtilisationIsTheModelsFlopsOverThePeak) {
  Training run{gpt(96, 12288, 96), a100(1600), {}};
  run.plan.gpus = 64;
  run.plan.tp = run.plan.pp = 8;
  run.plan.global_batch = 64;
  run.plan.sequence_parallel = true;
  run.plan.recompute = Recompute::kSelective;
  const Iteration it = evaluated_of_evaluate(run);
  const double rate = 64 / (it.iteration_s * 64 * 312e12);
  EXPECT_DOUBLE_EQ(it.published.mfu, rate * model_flops_per_sequence(run.model));
  EXPECT_DOUBLE_EQ(it.published.hfu, rate * hardware_flops_per_sequence(run.model, Recompute::kSelective));
  EXPECT_DOUBLE_EQ(it.done.mfu, it.published.mfu) << "materialised attention does all that papers count";
  EXPECT_LT(it.done.hfu, it.published.hfu) << "papers count the core twice that is computed again once";
  EXPECT_DOUBLE_EQ(it.done.tflops_per_gpu, it.done.mfu * 312);
  EXPECT_DOUBLE_EQ(it.tokens_per_s, 64 * 2048 / it.iteration_s);
  EXPECT_DOUBLE_EQ(seconds_to_train(it, 1e9), 1e9 / it.tokens_per_s);
}

TEST(Evaluate, InterleavingShrinksTheBubble) {
  Training run{gpt(96, 12288, 96), a100(1600), {}};
  run.plan.gpus = 64;
  run.plan.tp = run.plan.pp = 8;
  run.plan.global_batch = 64;
  const double whole = evaluated_of_evaluate(run).breakdown.bubble;
  run.plan.interleave = 3;
  EXPECT_NEAR(evaluated_of_evaluate(run).breakdown.bubble, whole / 3, 1e-12);
}

TEST(Evaluate, ZeroStageThreeMovesHalfAsMuchAgainAsStagesOneAndTwo) {
  Training run{gpt(32, 4096, 32), a100(1600), {}};
  run.system.fabric.levels[0].collective_s = run.system.fabric.levels[1].collective_s = 0;
  // Inside a node, where steps take no time; beyond it sharded layers travel one by one, each with its own.
  run.plan.gpus = run.plan.dp = run.plan.global_batch = 8;
  std::array<double, 4> dp{};
  for (run.plan.zero = 0; run.plan.zero < 4; ++run.plan.zero) {
    dp[run.plan.zero] = evaluated_of_evaluate(run).breakdown.dp_exposed;
  }
  EXPECT_NEAR(dp[1] / dp[0], 1, 1e-12);
  EXPECT_NEAR(dp[2] / dp[0], 1, 1e-12);
  EXPECT_NEAR(dp[3] / dp[0], 1.5, 1e-12);
}

RC_GTEST_PROP(Evaluate, AccumulatingInThePassesOfTheProductsNeverHurts, (Training run)) {
  run.plan.fused_accumulation = true;
  const double fused = evaluated_of_evaluate(run).iteration_s;
  run.plan.fused_accumulation = false;
  RC_ASSERT(not_longer(fused, evaluated_of_evaluate(run).iteration_s));
}

// Tensor groups of a node: the gather that follows must be faster than the way to the next node.
RC_GTEST_PROP(Evaluate, ScatterGatherInsideANodeNeverHurts, (Training run)) {
  RC_PRE(run.plan.tp <= 8);
  run.plan.scatter_gather = true;
  const double scattered = evaluated_of_evaluate(run).iteration_s;
  run.plan.scatter_gather = false;
  RC_ASSERT(not_longer(scattered, evaluated_of_evaluate(run).iteration_s));
}

TEST(Evaluate, WithoutScatterGatherABoundaryCarriesTheWholeTensor) {
  Training run{gpt(96, 12288, 96), a100(1600), {}};
  run.plan = {.gpus = 128, .global_batch = 64, .tp = 8, .pp = 16};
  run.plan.scatter_gather = false;
  const Iteration whole = evaluated_of_evaluate(run);
  const double bytes = 2.0 * 2048 * 12288;
  const auto& between = run.system.fabric.levels[1];
  EXPECT_NEAR(whole.boundary_s, bytes / (between.bytes_per_s * between.efficiency) + between.latency_s, 1e-6);
  EXPECT_NEAR(whole.breakdown.pp_exposed / whole.boundary_s, 2 * (64 + 15), 15) << "and the tied embedding's sum";
}

TEST(Evaluate, AccumulationApartMovesTenBytesAParameterEachMicrobatch) {
  Training run{gpt(96, 12288, 96, 0), a100(1600), {}};
  run.plan = {.gpus = 8, .global_batch = 16, .tp = 8};
  run.system.accelerator.host_seconds_per_op = 0;
  run.system.calibration.jitter_seconds = 0;
  const double fused = evaluated_of_evaluate(run).iteration_s;
  run.plan.fused_accumulation = false;
  const double parameters = 12.0 * 12288 * 12288 * 96 / 8;
  EXPECT_NEAR(evaluated_of_evaluate(run).iteration_s - fused,
              16 * machine::Roofline(run.system.accelerator).memory_bound_seconds(10 * parameters), 1e-6);
  run.plan.main_gradients_fp32 = false;
  EXPECT_NEAR(evaluated_of_evaluate(run).iteration_s - fused,
              16 * machine::Roofline(run.system.accelerator).memory_bound_seconds(6 * parameters), 1e-6);
}

TEST(Evaluate, GradientsCopiedToTheSumsPrecisionMoveEightBytesMore) {
  Training run{gpt(96, 12288, 96, 0), a100(1600), {}};
  run.plan = {.gpus = 8, .global_batch = 16, .tp = 8};
  run.system.accelerator.host_seconds_per_op = 0;
  run.system.calibration.jitter_seconds = 0;
  run.plan.fused_accumulation = false;
  const double apart = evaluated_of_evaluate(run).iteration_s;
  run.plan.converted_gradients = true;
  const double parameters = 12.0 * 12288 * 12288 * 96 / 8;
  EXPECT_NEAR(evaluated_of_evaluate(run).iteration_s - apart,
              16 * machine::Roofline(run.system.accelerator).memory_bound_seconds(8 * parameters), 1e-6);
  run.plan.main_gradients_fp32 = false;
  const double sixteen_bits = evaluated_of_evaluate(run).iteration_s;
  run.plan.converted_gradients = false;
  EXPECT_EQ(evaluated_of_evaluate(run).iteration_s, sixteen_bits) << "sums of 16 bits need no copy";
}

TEST(Evaluate, TheRateOfAnAttentionKernelStretchesTheCoreAlone) {
  Training run{gpt(96, 12288, 96, 0), a100(1600), {}};
  run.model.attention = Attention::kFlash;
  run.plan = {.gpus = 8, .global_batch = 16, .tp = 8};
  run.system.accelerator.host_seconds_per_op = 0;
  run.system.calibration.jitter_seconds = 0;
  const auto at = [&](double rate) {
    run.system.accelerator.attention_efficiency[static_cast<std::size_t>(run.plan.stack.kernel)] = rate;
    return evaluated_of_evaluate(run).iteration_s;
  };
  const double whole = at(0.8);
  EXPECT_NEAR(at(0.2) - whole, 3 * (at(0.4) - whole), 1e-9 * whole);
  EXPECT_GT(at(0.4), whole);
  run.model.attention = Attention::kMaterialised;
  EXPECT_EQ(at(0.4), at(0.8)) << "materialised scores are products like others";
}

// Software of today on nodes of eight.
Training sharded(base::Count replicas) {
  Training run{gpt(32, 4096, 32), a100(1600), {}};
  run.plan.gpus = run.plan.dp = replicas;
  run.plan.global_batch = 4 * replicas;
  run.plan.micro_batch = 2;
  run.plan.zero = 3;
  run.plan.overlap.dp = 1;
  run.plan.stack.contention = 0.5;
  run.plan.stack.stragglers = 0.002;
  return run;
}

TEST(Evaluate, MoreReplicasNeverMakeEachFaster) {
  for (int zero = 0; zero <= 3; ++zero) {
    double before = 0;
    for (base::Count replicas = 8; replicas <= 1024; replicas *= 2) {
      Training run = sharded(replicas);
      run.plan.zero = zero;
      const double now = evaluated_of_evaluate(run).iteration_s;
      EXPECT_GE(now, before) << replicas << " replicas, ZeRO " << zero;
      before = now;
    }
  }
}

TEST(Evaluate, TheFirstGatherAndTheLastScatterAreExposedHoweverFastTheComputation) {
  Training run = sharded(64);
  run.plan.stack.contention = run.plan.stack.stragglers = 0;
  const Iteration it = evaluated_of_evaluate(run);
  const double all = it.hidden.dp + it.breakdown.dp_exposed;
  EXPECT_GT(it.breakdown.dp_exposed, all / 33) << "of 32 layers and what is around them";
  EXPECT_LT(it.breakdown.dp_exposed, all / 10) << "the rest goes beside, all but what layers wait for each other";
}

TEST(Evaluate, EachLayersGatherPaysItsOwnSteps) {
  Training run = sharded(1024);
  run.plan.stack.stragglers = 0;
  const auto all = [&](double latency) {
    run.system.fabric.levels[1].latency_s = latency;
    const Iteration it = evaluated_of_evaluate(run);
    return it.hidden.dp + it.breakdown.dp_exposed;
  };
  // Two microbatches gather twice each and scatter once: 33 units, 127 steps between 128 nodes.
  EXPECT_NEAR(all(20e-6) - all(0), 6 * 33 * 127 * 20e-6, 1e-6);
}

TEST(Evaluate, OwnersOfWholeParametersBroadcastInTurnSoThatHopsGrowAsTheSquareOfTheRanks) {
  const auto hops = [](base::Count replicas) {
    const auto all = [&](double latency) {
      Training run = sharded(replicas);
      run.plan.zero = 1;
      run.plan.stack.stragglers = 0;
      run.plan.stack.whole_parameters = true;
      run.system.fabric.levels[1].latency_s = latency;
      const Iteration it = evaluated_of_evaluate(run);
      return it.hidden.dp + it.breakdown.dp_exposed;
    };
    return (all(20e-6) - all(0)) / 20e-6;
  };
  // An owner's broadcast takes a hop to each node but its own, the all-reduce of gradients before them two.
  EXPECT_NEAR(hops(8), 0, 1e-6) << "one node";
  EXPECT_NEAR(hops(16), (16 + 2) * 1, 1e-3);
  EXPECT_NEAR(hops(128), (128 + 2) * 15, 1e-3);
  // 32 layers of four matrices and two norms and what is around them are 195 tensors: other ranks have none to send.
  EXPECT_NEAR(hops(256), (195 + 2) * 31, 1e-3);
  EXPECT_NEAR(hops(1024), (195 + 2) * 127, 1e-3);
}

TEST(Evaluate, OwnersOfWholeParametersShowTheirBroadcastsAndMatterToZeroOneAlone) {
  for (int zero = 0; zero <= 3; ++zero) {
    for (const base::Count replicas : {1, 64}) {
      Training run = sharded(replicas);
      run.plan.zero = zero;
      const Iteration parts = evaluated_of_evaluate(run);
      run.plan.stack.whole_parameters = true;
      const Iteration whole = evaluated_of_evaluate(run);
      if (zero == 1 && replicas > 1) {
        EXPECT_GT(whole.breakdown.dp_exposed, parts.breakdown.dp_exposed);
        run.plan.shard = 8;
        EXPECT_LT(evaluated_of_evaluate(run).iteration_s, whole.iteration_s) << "owners in every node send inside it";
      } else {
        EXPECT_EQ(whole.iteration_s, parts.iteration_s) << "ZeRO " << zero << ", " << replicas << " replicas";
      }
    }
  }
}

TEST(Evaluate, CommunicationBesideWorkCostsWhatItTakesFromIt) {
  Training run = sharded(64);
  const double half = evaluated_of_evaluate(run).iteration_s;
  run.plan.stack.contention = 0;
  const Iteration free = evaluated_of_evaluate(run);
  run.plan.stack.contention = 1;
  const double nothing = evaluated_of_evaluate(run).iteration_s;
  EXPECT_NEAR(half, (free.iteration_s + nothing) / 2, 1e-9);
  run.plan.overlap.dp = 0;
  EXPECT_GT(evaluated_of_evaluate(run).iteration_s, nothing) << "waiting for networks between nodes takes nothing";
  run = sharded(8);
  run.plan.stack.contention = 1;
  const double inside = evaluated_of_evaluate(run).iteration_s;
  run.plan.overlap.dp = 0;
  EXPECT_NEAR(evaluated_of_evaluate(run).iteration_s, inside, 0.03 * inside) << "links inside a node are kept busy";
}

TEST(Evaluate, HybridShardingGathersInsideANodeAndHoldsANodesShare) {
  Training run = sharded(64);
  run.system = a100(100);
  const Iteration all = evaluated_of_evaluate(run);
  run.plan.shard = 8;
  const Iteration hybrid = evaluated_of_evaluate(run);
  EXPECT_LT(hybrid.breakdown.dp_exposed, all.breakdown.dp_exposed);
  EXPECT_NEAR(hybrid.memory.optimizer, 8 * all.memory.optimizer, 1e-6 * hybrid.memory.optimizer);
  run.plan.shard = 64;
  EXPECT_DOUBLE_EQ(evaluated_of_evaluate(run).iteration_s, all.iteration_s)
      << "all replicas are what is meant without it";
}

TEST(Evaluate, AdaptersTrainAShareOfTheWeightsAndNeedLessOfEverything) {
  Training run = sharded(8);
  const Iteration whole = evaluated_of_evaluate(run);
  run.plan.lora_rank = 16;
  const Iteration adapted = evaluated_of_evaluate(run);
  EXPECT_LT(adapted.memory.optimizer, 0.02 * whole.memory.optimizer);
  EXPECT_LT(adapted.breakdown.backward, 0.7 * whole.breakdown.backward) << "no gradients of weights";
  EXPECT_LT(adapted.iteration_s, whole.iteration_s);
}

TEST(Evaluate, OffloadTradesMemoryForTheLinksTime) {
  Training run = sharded(8);
  run.system.accelerator.host_bytes_per_s = 25e9;
  const Iteration kept = evaluated_of_evaluate(run);
  run.plan.offload_activations = 1;
  run.plan.offload_optimizer = 1;
  const Iteration away = evaluated_of_evaluate(run);
  EXPECT_LT(away.memory.activations, 0.1 * kept.memory.activations);
  EXPECT_EQ(away.memory.optimizer, 0);
  EXPECT_GT(away.iteration_s, kept.iteration_s);
  // 6 bytes a parameter over the link, 30 in the host's memory; 12 bytes of each were on the accelerator.
  EXPECT_NEAR(away.breakdown.optimizer - kept.breakdown.optimizer, 36 * kept.memory.optimizer / 12 / 25e9,
              1e-6 * away.breakdown.optimizer);
  run.system.accelerator.host_bytes_per_s = 1e15;
  EXPECT_NEAR(evaluated_of_evaluate(run).iteration_s, kept.iteration_s, 1e-4 * kept.iteration_s);
}

TEST(Evaluate, ExpertsBehindGroupedProductsAndImbalanceTakeLongerAndNothingElseDoes) {
  Training run{gpt(32, 4096, 32), a100(1600), {}};
  run.plan = {.gpus = 8, .global_batch = 8, .dp = 8};
  const double dense = evaluated_of_evaluate(run).iteration_s;
  run.plan.stack.grouped_rate = 0.8;
  run.plan.stack.imbalance = 1.15;
  EXPECT_EQ(evaluated_of_evaluate(run).iteration_s, dense);
  run.model.experts = {.count = 64, .top_k = 8, .ffn = 1024};
  const double grouped = evaluated_of_evaluate(run).iteration_s;
  run.plan.stack = {};
  EXPECT_GT(grouped, evaluated_of_evaluate(run).iteration_s);
}

// The products of each expert take what `grouped_fill` tokens more would: the same whatever the tokens.
TEST(Evaluate, ProductsOfExpertsTakeTheTimeOfAFixedNumberOfTokensMore) {
  Training run{gpt(32, 4096, 32), a100(1600), {}};
  run.plan = {.gpus = 8, .global_batch = 64, .dp = 8};
  run.model.experts = {.count = 16, .top_k = 2, .ffn = 4096};
  run.plan.stack.host = 0;
  const auto more = [&](base::Count micro_batch) {
    run.plan.micro_batch = micro_batch;
    run.plan.stack.grouped_fill = 0;
    const double without = evaluated_of_evaluate(run).breakdown.forward;
    run.plan.stack.grouped_fill = 512;
    const double with = evaluated_of_evaluate(run).breakdown.forward;
    return (with - without) / (8.0 / static_cast<double>(micro_batch)) / (without / 8.0);
  };
  // A microbatch of four sequences has 1,024 tokens for each expert, one of two 512.
  const double two = more(2), four = more(4);
  EXPECT_GT(two, 0.1);
  EXPECT_NEAR(four / two, 1, 0.05);
}

// Transformer Engine issues the products of each expert by themselves: 64 on a rank are many, 8 a few, and a program of
// its own is issued as a whole.
TEST(Evaluate, ARankOfManyExpertsAndFewTokensWaitsForTheHostThatIssuesThemOneByOne) {
  Training run{gpt(16, 2048, 24, 51200, 512), a100(1600), {}};
  run.model.experts = {.count = 64, .top_k = 2, .ffn = 512};
  run.plan = {.gpus = 8, .global_batch = 64, .dp = 8};
  const auto seconds = [&](StackName name, base::Count ep) {
    run.plan.stack.name = name;
    run.plan.ep = ep;
    return evaluated_of_evaluate(run).breakdown.forward;
  };
  const double many = seconds(StackName::kMegatronCore, 1) / seconds(StackName::kXla, 1);
  const double few = seconds(StackName::kMegatronCore, 8) / seconds(StackName::kXla, 8);
  EXPECT_GT(many, 1.5);
  EXPECT_GT(few, 1);
  EXPECT_LT(few, many);
  run.plan.stack.host = 0;
  EXPECT_EQ(seconds(StackName::kMegatronCore, 1), seconds(StackName::kXla, 1));
}

// Eight experts on each of eight ranks, in 8 bits.
Training mixture_of_evaluate() {
  Training run{gpt(16, 2048, 24, 51200, 4096), a100(1600), {}};
  run.model.gated = true;
  run.model.attention = Attention::kFlash;
  run.model.experts = {.count = 64, .top_k = 8, .ffn = 1024};
  run.plan = {.gpus = 8, .global_batch = 64, .dp = 8, .ep = 8};
  run.plan.precision = machine::Precision::kFp8;
  run.system.accelerator.peak_flops_per_s[static_cast<int>(machine::Precision::kFp8)] = 624e12;
  run.plan.stack.name = StackName::kMegatronCore;
  run.plan.stack.host = 0;
  return run;
}

TEST(Evaluate, FusedExpertsSaveTheActivationsTrafficAndAreIssuedAsOne) {
  Training run = mixture_of_evaluate();
  const Iteration apart = evaluated_of_evaluate(run);
  run.plan.stack.fused_experts = true;
  const Iteration fused = evaluated_of_evaluate(run);
  const double visits = 8 * 4096.0 * 24 * 8;
  const auto seconds = [&](double bytes) {
    return machine::Roofline(run.system.accelerator).memory_bound_seconds(visits * 1024 * bytes);
  };
  // SwiGLU's 6 bytes, and the reading of its result to quantise it.
  EXPECT_NEAR(apart.breakdown.forward - fused.breakdown.forward, seconds(6 + 3 - 2), 1e-6 * apart.breakdown.forward);
  // 6 of 10 bytes, the second copy of the input, and the reading of both gradients.
  EXPECT_NEAR(apart.breakdown.backward - fused.breakdown.backward, seconds(6 + 2 + 2 * (4 - 2)),
              1e-6 * apart.breakdown.backward);
  run.plan.stack.host = 1;
  const double one = evaluated_of_evaluate(run).breakdown.forward;
  run.plan.stack.fused_experts = false;
  EXPECT_GT(evaluated_of_evaluate(run).breakdown.forward - apart.breakdown.forward, one - fused.breakdown.forward);
}

TEST(Evaluate, AnExchangeOnUnitsOfItsOwnCostsTheWorkBesideItThose) {
  Training run = mixture_of_evaluate();
  run.plan.overlap.ep = 1;
  run.plan.stack.node_copies = true;
  run.plan.stack.contention = 0.6;
  const Iteration slow = evaluated_of_evaluate(run);
  run.plan.stack.exchange_units = 20;
  const Iteration fast = evaluated_of_evaluate(run);
  const double units = run.system.accelerator.units;
  EXPECT_NEAR(fast.hidden.ep / slow.hidden.ep, (1 - 20 / units) / 0.4, 1e-9);
  run.plan.stack.node_copies = false;
  const double of_library = evaluated_of_evaluate(run).hidden.ep;
  run.plan.stack.exchange_units = 0;
  EXPECT_EQ(evaluated_of_evaluate(run).hidden.ep, of_library) << "a library's all-to-all has no units of its own";
}

TEST(Evaluate, TheAllocatorsReserveGivesWayWhereMemoryIsShort) {
  Training run = sharded(8);
  run.plan.stack.reserve = 0.5;
  run.system.accelerator.memory_bytes = 1e12;
  const Iteration roomy = evaluated_of_evaluate(run);
  EXPECT_NEAR(roomy.memory.reserve, 0.5 * roomy.memory.in_use(), 1);
  run.system.accelerator.memory_bytes = 1.1 * roomy.memory.in_use();
  const Iteration tight = evaluated_of_evaluate(run);
  EXPECT_TRUE(tight.fits);
  EXPECT_NEAR(tight.memory.total(), run.system.accelerator.memory_bytes, 1);
}

TEST(Evaluate, FewerKeyValueHeadsMakeContextParallelismCheaper) {
  Training run{gpt(32, 4096, 32, 51200, 32768), a100(1600), {}};
  run.model.attention = Attention::kFlash;
  run.plan.gpus = run.plan.cp = 8;
  const double all = evaluated_of_evaluate(run).breakdown.cp_exposed;
  run.model.kv_heads = 8;
  const double grouped = evaluated_of_evaluate(run).breakdown.cp_exposed;
  EXPECT_GT(grouped, 0);
  EXPECT_LT(grouped, all);
}

}  // namespace
}  // namespace orrery::cluster
