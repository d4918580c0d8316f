#include "orrery/engines/cluster/model/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"
#include "orrery/engines/cluster/pipeline/stages.h"

namespace orrery::cluster {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

struct Korthikanti {
  const char* name;
  Gpt model;
  base::Count tp, pp, interleave, micro_batch;
};

// Table 3 of Korthikanti 2022. Its figure 1 leaves out embedding, biases and norms.
std::vector<Korthikanti> korthikanti() {
  std::vector<Korthikanti> all = {{"22B", gpt(64, 6144, 48), 8, 1, 1, 4},
                                  {"175B", gpt(96, 12288, 96), 8, 8, 3, 1},
                                  {"530B", gpt(128, 20480, 105), 8, 35, 3, 1},
                                  {"1T", gpt(160, 25600, 128), 8, 64, 1, 1}};
  for (Korthikanti& row : all) {
    row.model.vocab = 0;
    row.model.biases = row.model.learned_positions = false;
  }
  return all;
}

Plan plan_of(const Korthikanti& row) {
  Plan plan;
  plan.tp = row.tp;
  plan.pp = row.pp;
  plan.gpus = row.tp * row.pp;
  plan.interleave = row.interleave;
  plan.micro_batch = row.micro_batch;
  plan.global_batch = row.micro_batch * row.pp * 4;
  return plan;
}

const Korthikanti& named(const std::vector<Korthikanti>& all, const std::string& name) {
  for (const Korthikanti& row : all) {
    if (row.name == name) return row;
  }
  throw std::out_of_range(name);
}

TEST(Memory, KorthikantisFigureOneFollowsToATenthOfAPercent) {
  const auto rows = reference_rows("korthikanti2022_fig1_memory.csv");
  ORRERY_NEEDS_SHARED();
  const auto all = korthikanti();
  for (const Row& row : rows) {
    const Korthikanti& it = named(all, row.at("model"));
    Plan plan = plan_of(it);
    const Memory baseline = memory(it.model, plan);
    const double state = (baseline.weights + baseline.gradients + baseline.optimizer) / kGiB;
    EXPECT_NEAR(state / number(row, "param_optimizer_gib"), 1, 1e-3) << it.name;
    EXPECT_NEAR(baseline.activations / kGiB / number(row, "activations_gib_baseline"), 1, 1e-3) << it.name;
    plan.sequence_parallel = true;
    plan.recompute = Recompute::kSelective;
    EXPECT_NEAR(memory(it.model, plan).activations / kGiB / number(row, "activations_gib_sp_selective"), 1, 1e-3)
        << it.name;
  }
}

TEST(Memory, KorthikantisFigureSevenFollowsToTwoTenthsOfAPoint) {
  const auto rows = reference_rows("korthikanti2022_fig7_activation_pct.csv");
  ORRERY_NEEDS_SHARED();
  const auto all = korthikanti();
  for (const Row& row : rows) {
    const Korthikanti& it = named(all, row.at("model"));
    const auto bytes = [&](bool sequence_parallel, Recompute recompute) {
      Plan plan = plan_of(it);
      plan.sequence_parallel = sequence_parallel;
      plan.recompute = recompute;
      return memory(it.model, plan).activations;
    };
    const double baseline = bytes(false, Recompute::kNone);
    EXPECT_NEAR(100 * bytes(true, Recompute::kNone) / baseline, number(row, "seq"), 0.2);
    EXPECT_NEAR(100 * bytes(false, Recompute::kSelective) / baseline, number(row, "sel"), 0.2);
    EXPECT_NEAR(100 * bytes(true, Recompute::kSelective) / baseline, number(row, "seqsel"), 0.2);
    EXPECT_NEAR(100 * bytes(false, Recompute::kFull) / baseline, number(row, "full"), 0.2);
  }
}

TEST(Memory, ALayerKeepsWhatKorthikantisTableTwoSays) {
  const Model model = gpt(96, 12288, 96);
  const double s = 2048, b = 1, h = 12288, a = 96, t = 8;
  Plan plan;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, model.kinds[0]), s * b * h * (34 + 5 * a * s / h));
  plan.tp = 8;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, model.kinds[0]),
                   s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
  plan.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, model.kinds[0]), s * b * h * (10 + 24 / t));
  plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, model.kinds[0]), s * b * h * 34 / t);
  plan.recompute = Recompute::kNone;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, model.kinds[0]), s * b * h / t * (34 + 5 * a * s / h));
  plan.sequence_parallel = false;
  plan.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, model.kinds[0]), 2 * s * b * h);
}

TEST(Memory, ZeroShardsOptimiserThenGradientsThenWeights) {
  const Model model = gpt(16, 1024, 24);
  const double n = parameters(model);
  const double d = 16;
  Plan plan;
  plan.gpus = plan.dp = plan.global_batch = 16;
  plan.main_gradients_fp32 = false;  // 16 bytes a parameter
  const auto per_parameter = [&](int zero) {
    plan.zero = zero;
    const Memory m = memory(model, plan);
    return (m.weights + m.gradients + m.optimizer) / n;
  };
  EXPECT_NEAR(per_parameter(0), 16, 1e-9);
  EXPECT_NEAR(per_parameter(1), 4 + 12 / d, 1e-9);
  EXPECT_NEAR(per_parameter(2), 2 + 14 / d, 1e-9);
  EXPECT_NEAR(per_parameter(3), 16 / d, 1e-9);
}

TEST(Memory, ExpertParallelismDividesTheExpertsAlone) {
  Gpt model = gpt(32, 4096, 32);
  model.experts = {.count = 8, .top_k = 2, .ffn = 14336};
  Plan plan;
  plan.gpus = plan.dp = plan.global_batch = 8;
  const StageParameters whole = stage_parameters(model, plan, 0);
  plan.ep = 8;
  const StageParameters spread = stage_parameters(model, plan, 0);
  EXPECT_DOUBLE_EQ(whole.dense, spread.dense);
  EXPECT_DOUBLE_EQ(whole.experts, 8 * spread.experts);
  EXPECT_NEAR(whole.dense + whole.experts, parameters(model), 1);
}

double first_layer_bytes(const Model& model, const Plan& plan) {
  return activation_bytes_per_layer(model, plan, model.kinds[0]);
}

TEST(Memory, FlashAttentionKeepsNoScores) {
  Gpt model = gpt(32, 4096, 32, 51200, 65536);
  const double materialised = first_layer_bytes(model, Plan{});
  model.attention = Attention::kFlash;
  const double flash = first_layer_bytes(model, Plan{});
  EXPECT_GT(materialised - flash, 4.9 * 32 * 65536.0 * 65536);
}

base::Count fullest_stage(const Model& model, const Plan& plan) {
  base::Count fullest = 0;
  for (base::Count stage = 1; stage < plan.pp; ++stage) {
    if (stage_memory(model, plan, stage).total() > stage_memory(model, plan, fullest).total()) fullest = stage;
  }
  return fullest;
}

RC_GTEST_PROP(Memory, TheFullestOfAllStagesIsShown, (Training run)) {
  // More stages, and fronts of several of them, than other laws need.
  run.plan.pp = *rc::gen::inRange<base::Count>(1, 20);
  if (run.plan.schedule == Schedule::kDualPipe) {
    run.plan.pp += run.plan.pp % 2;
    run.plan.global_batch = 2 * run.plan.pp * run.plan.dp * run.plan.micro_batch;
  }
  run.model.layers = run.plan.pp * run.plan.interleave + *rc::gen::inRange<base::Count>(0, 60);
  run.model.ffn = run.model.hidden * *rc::gen::element<base::Count>(1, 4, 64);
  if (run.model.experts.count > 0) {
    run.model.experts.dense_layers = *rc::gen::inRange<base::Count>(0, 8);
    run.model.experts.every = *rc::gen::inRange<base::Count>(1, 4);
  }
  const Memory fullest = stage_memory(run.model, run.plan, fullest_stage(run.model, run.plan));
  // Sums of fractions of layers may round differently.
  RC_ASSERT(std::abs(memory(run.model, run.plan).total() - fullest.total()) <= 1e-12 * fullest.total());
}

TEST(Memory, Llama3sSecondStageIsFullerThanItsFirstWhichHasALayerLess) {
  Gpt model = gpt(128, 16384, 126, 128256, 8192);
  model.attention = Attention::kFlash;
  model.dropout = false;
  Plan plan;
  plan.tp = 8;
  plan.pp = plan.global_batch = 16;
  plan.gpus = 128;
  plan.zero = 1;
  ASSERT_EQ(fullest_stage(model, plan), 1);
  const double a_layer = first_layer_bytes(model, plan);
  EXPECT_DOUBLE_EQ(stage_memory(model, plan, 0).activations, 7 * 16 * a_layer);
  EXPECT_DOUBLE_EQ(memory(model, plan).activations, 8 * 15 * a_layer);
}

TEST(Memory, StagesBehindADenseFrontAreFullerForTheirExperts) {
  Gpt model = gpt(32, 4096, 64, 0);
  model.experts = {.count = 64, .top_k = 2, .ffn = 2048, .dense_layers = 3};
  Plan plan;
  plan.pp = plan.gpus = plan.global_batch = 16;
  EXPECT_EQ(fullest_stage(model, plan), 1);
  EXPECT_GT(memory(model, plan).weights, stage_memory(model, plan, 0).weights);
}

// Wide dense layers bring back more the fewer mixtures a stage holds, and ZeRO 3 gathers the mixtures, of which a dense
// front has none.
TEST(Memory, AShorterStageBetweenCanBeTheFullest) {
  Gpt model = gpt(8, 512, 12, 0, 4096);
  model.ffn = 16384;
  model.dropout = model.learned_positions = false;
  model.attention = Attention::kFlash;
  model.experts = {.count = 512, .top_k = 1, .ffn = 1024, .dense_layers = 2, .every = 4};
  Plan plan;
  plan.pp = 5;
  plan.dp = 512;
  plan.gpus = 5 * 512;
  plan.global_batch = 2 * 512;
  plan.recompute = Recompute::kFull;
  plan.zero = 3;
  EXPECT_EQ(fullest_stage(model, plan), 1 + longer_stages_between(model.layers, plan.pp));
  EXPECT_DOUBLE_EQ(memory(model, plan).total(), stage_memory(model, plan, 3).total());
}

TEST(Memory, DualPipeHoldsTwoStagesAndAMicrobatchMoreThanItHasStages) {
  const Gpt model = gpt(32, 4096, 64, 0);
  Plan plan;
  plan.pp = plan.gpus = 16;
  plan.global_batch = 64;
  const Memory one = stage_memory(model, plan, 1);
  plan.schedule = Schedule::kDualPipe;
  const Memory two = stage_memory(model, plan, 1);
  EXPECT_DOUBLE_EQ(two.weights, 2 * one.weights);
  EXPECT_DOUBLE_EQ(two.gradients, 2 * one.gradients);
  EXPECT_DOUBLE_EQ(two.optimizer, 2 * one.optimizer);
  EXPECT_DOUBLE_EQ(two.activations / 17, one.activations / 15);
  plan.zero = 1;
  EXPECT_DOUBLE_EQ(stage_memory(model, plan, 1).optimizer, one.optimizer) << "two accelerators share it";
}

TEST(Memory, WithoutDropoutMaterialisedScoresAreKeptOnce) {
  Gpt model = gpt(32, 4096, 64, 0);
  Plan plan;
  plan.global_batch = 1;
  const auto scores = [&] {
    model.attention = Attention::kMaterialised;
    const double all = first_layer_bytes(model, plan);
    model.attention = Attention::kFlash;
    return all - first_layer_bytes(model, plan) + 4.0 * 32 * model.seq;  // flash keeps sums of rows
  };
  EXPECT_DOUBLE_EQ(scores(), 5.0 * 32 * model.seq * model.seq);
  model.dropout = false;
  EXPECT_DOUBLE_EQ(scores(), 2.0 * 32 * model.seq * model.seq);
}

TEST(Memory, FewerBitsOfProductsKeepFewerBytesOfTheirOperands) {
  const Gpt model = gpt(32, 4096, 64, 0);
  Plan plan;
  plan.global_batch = 1;
  plan.stack.name = StackName::kMegatronCore;
  double before = first_layer_bytes(model, plan);
  for (const machine::Precision fewer :
       {machine::Precision::kMxfp8, machine::Precision::kFp8, machine::Precision::kNvfp4}) {
    plan.precision = fewer;
    const double bytes = first_layer_bytes(model, plan);
    EXPECT_LT(bytes, before) << machine::name(fewer);
    before = bytes;
  }
}

TEST(Memory, AHostHoldsWhatIsOffloadedUpToItsSize) {
  const Gpt model = gpt(32, 4096, 64, 0);
  System system = a100(1600);
  Plan plan;
  plan.global_batch = 1;
  plan.offload_optimizer = 1;
  const double bytes = host_bytes(model, plan);
  Plan kept = plan;
  kept.offload_optimizer = 0;
  EXPECT_DOUBLE_EQ(bytes, memory(model, kept).optimizer);
  EXPECT_TRUE(hosts_hold(model, system, plan)) << "nobody says what there is";
  system.accelerator.host_memory_bytes = bytes;
  EXPECT_TRUE(hosts_hold(model, system, plan));
  system.accelerator.host_memory_bytes = 0.99 * bytes;
  EXPECT_FALSE(hosts_hold(model, system, plan));
  EXPECT_TRUE(hosts_hold(model, system, kept));
}

TEST(Memory, WhatIsRecomputedIsNotKept) {
  const Gpt model = gpt(32, 4096, 64, 0);
  Plan plan;
  plan.global_batch = 1;
  plan.recompute = Recompute::kSelective;
  double before = first_layer_bytes(model, plan);
  for (bool Recomputed::*part : {&Recomputed::norms, &Recomputed::activations, &Recomputed::networks}) {
    plan.recomputed.*part = true;
    const double bytes = first_layer_bytes(model, plan);
    EXPECT_LT(bytes, before);
    before = bytes;
  }
}

TEST(Memory, FrozenMatricesHaveTheBitsThatTheyAreGiven) {
  const Gpt model = gpt(32, 4096, 64);
  Plan plan;
  plan.global_batch = 1;
  plan.lora_rank = 16;
  const Memory whole = memory(model, plan);
  plan.frozen_bits = 16;
  EXPECT_DOUBLE_EQ(memory(model, plan).weights, whole.weights);
  const LayerKind layer = Model(model).kinds[0];
  const double layers = 64 * (layer.split_params + layer.whole_params);
  plan.frozen_bits = 8;
  EXPECT_NEAR(memory(model, plan).weights, whole.weights - layers, 1e-9 * whole.weights);
  plan.frozen_bits = 4;
  EXPECT_NEAR(memory(model, plan).weights, whole.weights - layers * (2 - 4.126953125 / 8), 1e-9 * whole.weights);
}

TEST(Memory, AFrozenNetworkWithoutAdaptersKeepsNoInput) {
  const Gpt model = gpt(32, 4096, 64, 0);
  Plan plan;
  plan.global_batch = 1;
  plan.lora_rank = 16;
  const double all = first_layer_bytes(model, plan);
  plan.lora_networks = false;
  EXPECT_DOUBLE_EQ(all - first_layer_bytes(model, plan), 2.0 * 2048 * (4096 + 4 * 4096));
}

TEST(Memory, ALossInChunksHasTheLogitsOfOne) {
  const Gpt model = gpt(32, 4096, 4);
  Plan plan;
  plan.global_batch = 1;
  const double whole = memory(model, plan).buffers;
  plan.stack.loss_chunks = 8;
  EXPECT_NEAR(whole - memory(model, plan).buffers, 6.0 * 2048 * 51200 * 7 / 8, 1);
}

TEST(Memory, WhatTheLossMakesAndWhatRecomputationRestoresTakeTurns) {
  const Gpt model = gpt(32, 4096, 4, 512000);
  Plan plan;
  plan.global_batch = 1;
  const double loss = memory(model, plan).buffers;
  plan.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(memory(model, plan).buffers, loss) << "the loss is the larger";
}

TEST(Memory, LateGradientsComeWhenActivationsGo) {
  const Gpt model = gpt(32, 4096, 32, 0);
  Plan plan;
  plan.micro_batch = plan.global_batch = 16;
  const Memory early = memory(model, plan);
  plan.stack.late_gradients = true;
  Memory late = memory(model, plan);
  EXPECT_EQ(late.gradients, 0) << "activations are the larger";
  EXPECT_EQ(late.activations, early.activations);
  plan.recompute = Recompute::kFull;
  plan.micro_batch = plan.global_batch = 1;
  late = memory(model, plan);
  EXPECT_DOUBLE_EQ(late.activations, early.activations / 32 / 16) << "gradients are, beside the first layer's";
  EXPECT_EQ(late.gradients, early.gradients);
  plan.global_batch = 2;
  late = memory(model, plan);
  EXPECT_GT(late.activations, 0) << "those of the first microbatch wait for the second";
  EXPECT_EQ(late.gradients, early.gradients);
}

TEST(Memory, SoftwareThatKeepsMoreKeepsMoreOfEverythingButALayersInput) {
  const Gpt model = gpt(32, 4096, 32, 0);
  Plan plan;
  plan.global_batch = 1;
  const double kept = memory(model, plan).activations;
  plan.stack.kept = 1.5;
  EXPECT_DOUBLE_EQ(memory(model, plan).activations, 1.5 * kept);
  plan.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(first_layer_bytes(model, plan), 2.0 * 2048 * 4096);
}

TEST(Memory, ExpertsOfACapacityKeepAllOfItWhereTheyArePaddedAndElseWhatThereIs) {
  Gpt model = gpt(32, 4096, 4, 0);
  model.experts = {.count = 8, .top_k = 2, .ffn = 4096};
  Plan plan;
  plan.global_batch = 1;
  const double uncapped = memory(model, plan).activations;
  plan.capacity_factor = 2;
  EXPECT_GT(memory(model, plan).activations, uncapped);
  plan.stack.pads_experts = false;
  EXPECT_DOUBLE_EQ(memory(model, plan).activations, uncapped) << "nothing is dropped on average";
  plan.capacity_factor = 0.5;
  const double dropped = memory(model, plan).activations;
  EXPECT_LT(dropped, uncapped);
  plan.stack.pads_experts = true;
  EXPECT_DOUBLE_EQ(memory(model, plan).activations, dropped) << "half of them are full";
}

TEST(Memory, OfATableAndLogitsGatheredApartTheLargerIsThere) {
  Gpt model = gpt(32, 4096, 4, 100'000);
  model.tied_embedding = false;
  Plan plan;
  plan.dp = plan.global_batch = 8;
  plan.zero = 3;
  plan.stack.state_bytes = 12;
  const double both = memory(model, plan).buffers;
  plan.stack.ends_apart = true;
  EXPECT_NEAR(both - memory(model, plan).buffers, 2.0 * (100'000 + 2048) * 4096, 0.03 * both);
}

TEST(Memory, SoftwareThatKeepsInputsOfFrozenProductsDoesSoWhereTheyAreQuantised) {
  const Gpt model = gpt(32, 4096, 4, 0);
  Plan plan;
  plan.global_batch = 1;
  plan.lora_rank = 8;
  plan.lora_networks = false;
  const double whole = memory(model, plan).activations;
  plan.stack.frozen_inputs = true;
  EXPECT_EQ(memory(model, plan).activations, whole);
  plan.frozen_bits = 4;
  EXPECT_DOUBLE_EQ(memory(model, plan).activations - whole, 4 * 2048.0 * 2 * (4096 + 4 * 4096))
      << "what both products of a network read";
}

TEST(Memory, RecomputedLayersAreAShareOfAStage) {
  const Gpt model = gpt(32, 4096, 32, 0);
  Plan plan;
  plan.global_batch = 1;
  const double kept = memory(model, plan).activations;
  plan.recompute = Recompute::kFull;
  const double least = memory(model, plan).activations;
  plan.recompute_layers = 8;
  EXPECT_NEAR(memory(model, plan).activations, kept - (kept - least) / 4, 1);
  plan.recompute_layers = 32;
  EXPECT_DOUBLE_EQ(memory(model, plan).activations, least);
}

TEST(Memory, AStepInTheBackwardPassLeavesOneLayersGradients) {
  const Gpt model = gpt(32, 4096, 32, 0);
  Plan plan;
  plan.global_batch = 1;
  const double all = memory(model, plan).gradients;
  plan.step_in_backward = true;
  EXPECT_NEAR(memory(model, plan).gradients / all, 1.0 / 32, 0.002);
}

TEST(Memory, DeferredExchangeKeepsWholeGradients) {
  const Gpt model = gpt(32, 4096, 32, 0);
  Plan plan;
  plan.gpus = plan.dp = 8;
  plan.global_batch = 16;
  plan.zero = 2;
  const double parts = memory(model, plan).gradients;
  plan.deferred_sync = true;
  EXPECT_NEAR(memory(model, plan).gradients, 8 * parts, 1);
}

TEST(Memory, TheLargestTermIsNamed) {
  Memory m;
  m.activations = 3;
  m.optimizer = 2;
  EXPECT_EQ(name(m.largest()), "activations");
  m.buffers = 4;
  EXPECT_EQ(name(m.largest()), "buffers");
  EXPECT_DOUBLE_EQ(m.total(), 9);
}

TEST(Memory, WithoutZeroTheOptimisersStateAloneIsOffloaded) {
  const Model model = gpt(16, 2048, 8);
  Plan plan{.gpus = 8, .global_batch = 8, .micro_batch = 1, .dp = 8};
  plan.stack.offloads_all = true;
  plan.offload_optimizer = 1;
  EXPECT_EQ(memory(model, plan).optimizer, 0);
  EXPECT_GT(memory(model, plan).weights, 0);
  plan.zero = 3;
  EXPECT_EQ(memory(model, plan).weights + memory(model, plan).gradients, 0);
}

}  // namespace
}  // namespace orrery::cluster
