#include "orrery/engines/cluster/model/flops.h"

#include <gtest/gtest.h>

#include "orrery/engines/cluster/model/a100_test_util.h"

namespace orrery::cluster {
namespace {

TEST(Flops, ParametersAreNarayanansEquationTwo) {
  for (const auto& [a, h, l] : {std::array{24, 2304, 24}, std::array{96, 12288, 96}, std::array{160, 25600, 128}}) {
    const Model model = gpt(a, h, l);
    const double H = h, L = l, V = 51200, s = 2048;
    EXPECT_DOUBLE_EQ(parameters(model), 12 * L * H * H * (1 + 13 / (12 * H) + (V + s) / (12 * L * H)));
  }
}

TEST(Flops, NarayanansPrintedParametersAndOperationsFollow) {
  const auto rows = reference_rows("narayanan2021_table1.csv");
  ORRERY_NEEDS_SHARED();
  for (const Row& row : rows) {
    const Model model = gpt(number(row, "heads"), number(row, "hidden"), number(row, "layers"));
    EXPECT_NEAR(parameters(model) / 1e9, number(row, "params_b"), 0.05 + 1e-9);
    const double flops = number(row, "global_batch") * hardware_flops_per_sequence(model, Recompute::kFull);
    EXPECT_NEAR(flops / number(row, "derived_flop_per_iter_eq3"), 1, 1e-6);
  }
}

TEST(Flops, FullRecomputationIsNarayanansEquationThree) {
  const Model model = gpt(96, 12288, 96);
  const double h = 12288, l = 96, V = 51200, s = 2048;
  EXPECT_DOUBLE_EQ(hardware_flops_per_sequence(model, Recompute::kFull),
                   96 * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h)));
}

TEST(Flops, FrozenMatricesDoTwoProductsInThePlaceOfThree) {
  const Model model = gpt(96, 12288, 96);
  const double trained = done_flops_per_sequence(model, Recompute::kNone).model;
  const double adapted = done_flops_per_sequence(model, Recompute::kNone, {}, 1).model;
  const double core = 3 * 96 * 2048.0 * 2048 * 4 * 12288;  // materialised scores, in full
  EXPECT_NEAR(adapted - core, (trained - core) * 2 / 3, 1e-3 * trained);
  // Two thin products beside every matrix of a layer, none beside the logits': 3 x 2 x tokens x rank x (in + out).
  const double each = done_flops_per_sequence(model, Recompute::kNone, {}, 2).model - adapted;
  const double widths = 96 * (4 * 12288.0 + 2 * 12288 + 2 * (5 * 12288.0));
  EXPECT_NEAR(each, 6 * 2048 * widths, 1e-9 * each);
}

TEST(Flops, ModelAndSelectiveRecomputationAreKorthikantisEquationsSevenAndEight) {
  const Model model = gpt(160, 25600, 128);
  const double h = 25600, l = 128, V = 51200, s = 2048;
  EXPECT_DOUBLE_EQ(model_flops_per_sequence(model), 72 * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h)));
  EXPECT_DOUBLE_EQ(hardware_flops_per_sequence(model, Recompute::kSelective),
                   72 * s * l * h * h * (1 + s / (3 * h) + V / (12 * l * h)));
}

TEST(Flops, KorthikantisPrintedUtilisationsFollow) {
  const auto rows = reference_rows("korthikanti2022_table5.csv");
  ORRERY_NEEDS_SHARED();
  for (const Row& row : rows) {
    const Model model = gpt(number(row, "heads"), number(row, "hidden"), number(row, "layers"));
    const double rate =
        number(row, "global_batch") / (number(row, "iter_s_sp_selective") * number(row, "gpus") * 312e12);
    EXPECT_NEAR(100 * rate * model_flops_per_sequence(model), number(row, "mfu_pct"), 0.15);
    EXPECT_NEAR(100 * rate * hardware_flops_per_sequence(model, Recompute::kSelective), number(row, "hfu_pct"), 0.15);
  }
}

TEST(Flops, GroupedHeadsGatesAndMixturesCountTheirOwnMatrices) {
  Gpt llama = gpt(32, 4096, 32, 128256, 8192);
  llama.kv_heads = 8;
  llama.ffn = 14336;
  llama.gated = true;
  llama.biases = llama.learned_positions = llama.tied_embedding = false;
  EXPECT_NEAR(parameters(llama) / 1e9, 8.03, 0.005);

  Gpt mixtral = llama;
  mixtral.vocab = 32000;
  mixtral.experts = {.count = 8, .top_k = 2, .ffn = 14336};
  EXPECT_NEAR(parameters(mixtral) / 1e9, 46.7, 0.05);
  EXPECT_NEAR(parameters(mixtral, true) / 1e9, 12.9, 0.05);
}

TEST(Flops, LatentAttentionAndSharedExpertsMakeDeepSeekV3) {
  Gpt v3 = gpt(128, 7168, 61, 129280, 4096);
  v3.head_width = 128;
  v3.ffn = 18432;
  v3.gated = true;
  v3.biases = v3.learned_positions = v3.tied_embedding = false;
  v3.latent = {.q_rank = 1536, .kv_rank = 512, .rope_width = 64, .nope_width = 128, .value_width = 128};
  v3.experts = {.count = 256, .top_k = 8, .ffn = 2048, .shared = 1, .dense_layers = 3};
  EXPECT_NEAR(parameters(v3) / 1e9, 671, 0.5);
  EXPECT_NEAR(parameters(v3, true) / 1e9, 37.5, 0.5);
}

}  // namespace
}  // namespace orrery::cluster
