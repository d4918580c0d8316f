// Lists and offsets that say of what kind each layer is: one that names layers which are not there is a slip, and would
// pass as another model.
#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/huggingface/config_test_util.h"
#include "orrery/formats/huggingface/huggingface_config.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes, base::source;

const std::string kSizes =
    R"("hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4,
  "intermediate_size": 128, "vocab_size": 100, )";

std::string with(const std::string& type, const std::string& more) {
  return "{\"model_type\": \"" + type + "\", " + kSizes + more + "}";
}

const std::string kLatent = R"("kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 12, "v_head_dim": 16,
  "q_lora_rank": 8, "num_experts_per_tok": 2, )";

TEST(LayerLists, LayersThatAreNotThereAreRefused) {
  for (const auto& text :
       {with("qwen3_moe", R"("mlp_only_layers": [1, 4])"), with("qwen3_moe", R"("mlp_only_layers": [-1])"),
        with("llama4_text", R"("moe_layers": [100])"), with("lfm2", R"("full_attn_idxs": [0, 9])"),
        with("ernie4_5_moe", R"("moe_layer_start_index": 4)")})
    EXPECT_EQ(codes(refused(text)), Codes{"O0922"}) << text;
}

TEST(LayerLists, KindsOfLayersThatNobodyHasAreRefusedByName) {
  for (const auto& text : {with("recurrent_gemma", R"("block_types": ["recurrent", "attend"])"),
                           with("olmo_hybrid", R"("layer_types": ["conv", "conv", "conv", "conv"])"),
                           with("laguna", R"("gating": "per-layer")")})
    EXPECT_EQ(codes(refused(text)), Codes{"O0903"}) << text;
  for (const auto& text : {with("laguna", R"("num_attention_heads_per_layer": [4, 4, 8])"),
                           with("bamba", R"("mamba_n_heads": 8, "mamba_d_head": 16, "attn_layer_indices": [4])"),
                           with("bailing_hybrid", kLatent + R"("mlp_layer_types": ["dense"])")})
    EXPECT_EQ(codes(refused(text)), Codes{"O0922"}) << text;
  EXPECT_EQ(codes(refused(with("laguna", R"("num_attention_heads_per_layer": [4, 4, 6, 8])"))), Codes{"O0912"});
  const std::string neo = R"({"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 4, "num_heads": 4,
    "vocab_size": 100, "attention_types": )";
  EXPECT_EQ(codes(refused(neo + R"([[["global", "local"], 3]]})")), Codes{"O0922"}) << "6 of 4 layers";
  const std::string dbrx = R"({"model_type": "dbrx", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100,
    "ffn_config": {"moe_num_experts": 4, "moe_top_k": 5}})";
  EXPECT_EQ(codes(refused(dbrx)), Codes{"O0907"});
}

// Laguna's published files say which layers have no experts in both ways; its class reads `mlp_layer_types` alone.
TEST(LayerLists, DenseLayersMayBeSaidTwice) {
  const std::string twice = R"("mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "mlp_only_layers": [0])";
  EXPECT_EQ(codes(refused(with("laguna", twice))), Codes{});
  EXPECT_EQ(codes(refused(with("laguna", R"("mlp_only_layers": [0])"))), Codes{"O0917"});
}

TEST(LayerLists, GroupsOfExpertsMustBeThere) {
  const auto grouped = [](const std::string& more) {
    return codes(refused(with("deepseek_v3", kLatent + "\"n_routed_experts\": 16, " + more)));
  };
  EXPECT_EQ(grouped(R"("n_group": 3, "topk_group": 2)"), Codes{"O0907"}) << "16 / 3";
  EXPECT_EQ(grouped(R"("n_group": 4, "topk_group": 5)"), Codes{"O0907"});
  EXPECT_EQ(grouped(R"("n_group": 16, "topk_group": 1)"), Codes{"O0907"}) << "2 experts of 1 group of 1";
  EXPECT_EQ(grouped(R"("n_group": 8, "topk_group": 1)"), Codes{});
  EXPECT_EQ(grouped(R"("n_group": 4, "topk_group": 2)"), Codes{});
}

TEST(LayerLists, JambasListMustSayWhatItsPeriodsSay) {
  const auto jamba = [](const std::string& list) {
    return codes(refused(with("jamba", R"("attn_layer_period": 2, "attn_layer_offset": 1, )" + list)));
  };
  EXPECT_EQ(jamba(R"("layers_block_type": ["mamba", "attention", "mamba", "attention"])"), Codes{});
  EXPECT_EQ(jamba(R"("layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention"])"),
            Codes{});
  EXPECT_EQ(jamba(R"("layers_block_type": ["mamba", "attention", "attention", "mamba"])"), Codes{"O0922"});
  EXPECT_EQ(jamba(R"("layers_block_type": ["mamba", "attention"])"), Codes{"O0922"});
}

TEST(LayerLists, MoreGroupsOfWeightsThanLayersAreRefused) {
  EXPECT_EQ(codes(refused(with("albert", R"("num_hidden_groups": 5)"))), Codes{"O0922"});
  EXPECT_EQ(codes(refused(with("albert", R"("num_hidden_groups": 4)"))), Codes{});
}

TEST(LayerLists, OffsetsBeyondTheirPeriodsAreRefused) {
  EXPECT_EQ(codes(refused(with("jamba", R"("attn_layer_offset": 8, "attn_layer_period": 8)"))), Codes{"O0910"});
  EXPECT_EQ(codes(refused(with("jamba", R"("expert_layer_offset": 5, "expert_layer_period": 2)"))), Codes{"O0910"});
}

TEST(LayerLists, NetworksAreDenseOrSparseOneForEachLayer) {
  EXPECT_EQ(
      codes(refused(with("deepseek_v3", kLatent + R"("mlp_layer_types": ["dense", "sprase", "sparse", "sparse"])"))),
      Codes{"O0903"});
  EXPECT_EQ(codes(refused(with("deepseek_v3", kLatent + R"("mlp_layer_types": ["dense", "sparse"])"))), Codes{"O0922"});
}

TEST(LayerLists, AnEndThatIsNoLayerIsRefused) {
  EXPECT_EQ(codes(refused(with("ernie4_5_moe", R"("moe_layer_end_index": 1e300)"))), Codes{"O0903"});
  EXPECT_EQ(codes(refused(with("ernie4_5_moe", R"("moe_layer_end_index": "5")"))), Codes{"O0903"});
}

TEST(LayerLists, DecodersAreNoDeeperThanAnyModel) {
  const std::string t5 = R"({"model_type": "t5", "d_model": 64, "d_ff": 128, "num_layers": 2, "num_heads": 4,
    "vocab_size": 100, "num_decoder_layers": 100000000})";
  EXPECT_EQ(codes(refused(t5)), Codes{"O0910"});
}

TEST(LayerLists, PairsOfSizesOfATowerAreTwoPositiveNumbers) {
  for (const char* pair : {"[]", "[0, 5]", "[4611686018427387904]", "[1, 2, 3]"}) {
    const std::string text = R"({"model_type": "llava", "text_config": {"model_type": "llama"},
      "vision_config": {"model_type": "clip_vision_model", "image_size": )" +
                             std::string(pair) + "}}";
    EXPECT_EQ(codes(refused(text)), Codes{"O0903"}) << pair;
  }
}

}  // namespace
}  // namespace orrery::formats::huggingface
