#include "orrery/cluster/memory.h"

#include <gtest/gtest.h>

#include "orrery/cluster/a100_test_util.h"

namespace orrery::cluster {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

struct Korthikanti {
  const char* name;
  Model model;
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
  if (rows.empty()) GTEST_SKIP() << "no reference material beside the checkout";
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
  if (rows.empty()) GTEST_SKIP() << "no reference material beside the checkout";
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
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, false), s * b * h * (34 + 5 * a * s / h));
  plan.tp = 8;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, false), s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
  plan.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, false), s * b * h * (10 + 24 / t));
  plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, false), s * b * h * 34 / t);
  plan.recompute = Recompute::kNone;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, false), s * b * h / t * (34 + 5 * a * s / h));
  plan.sequence_parallel = false;
  plan.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(activation_bytes_per_layer(model, plan, false), 2 * s * b * h);
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
  Model model = gpt(32, 4096, 32);
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

TEST(Memory, FlashAttentionKeepsNoScores) {
  Model model = gpt(32, 4096, 32, 51200, 65536);
  const double materialised = activation_bytes_per_layer(model, Plan{}, false);
  model.attention = Attention::kFlash;
  const double flash = activation_bytes_per_layer(model, Plan{}, false);
  EXPECT_GT(materialised - flash, 4.9 * 32 * 65536.0 * 65536);
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

}  // namespace
}  // namespace orrery::cluster
