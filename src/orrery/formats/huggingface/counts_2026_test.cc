// Families of 2025 and 2026. Parameters are those of their classes in transformers 5.24.0, counted on the meta device;
// what a token meets, caches and states follow from the sizes.
#include "orrery/formats/huggingface/counted_test_util.h"

namespace orrery::formats::huggingface {
namespace {

TEST(AwkwardModels, IndexesAndYoungerMixturesHaveTheirClassesCounts) {
  expect_counts({
      {"qwen3_5_text: deltas, gated attention",
       R"({"model_type": "qwen3_5_text", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10,
    "linear_value_head_dim": 12})",
       {310396, 60180, 310396, 112, 112, 1920, 0, 0}},
      {"qwen3_5_moe_text: experts with a shared one",
       R"({"model_type": "qwen3_5_moe_text", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads":
    6, "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10,
    "linear_value_head_dim": 12, "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size":
    53, "shared_expert_intermediate_size": 71})",
       {491296, 60180, 395896, 112, 112, 1920, 0, 0}},
      {"deepseek_v32: an index in every layer",
       R"({"model_type": "deepseek_v32", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "n_routed_experts": 8, "num_experts_per_tok": 3,
    "moe_intermediate_size": 53, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 2,
    "index_n_heads": 4, "index_head_dim": 12, "index_topk": 100, "q_lora_rank": 22, "kv_lora_rank": 18,
    "qk_rope_head_dim": 6, "qk_nope_head_dim": 10, "v_head_dim": 14})",
       {502280, 60180, 359180, 360, 360, 0, 0, 0}},
      {"glm_moe_dsa: layers that share an index",
       R"({"model_type": "glm_moe_dsa", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "n_routed_experts": 8, "num_experts_per_tok": 3,
    "moe_intermediate_size": 53, "first_k_dense_replace": 1, "index_n_heads": 4, "index_head_dim": 12,
    "index_topk": 100, "indexer_types": ["full", "shared", "full", "shared", "shared"], "q_lora_rank":
    22, "kv_lora_rank": 18, "qk_rope_head_dim": 6, "qk_nope_head_dim": 10, "v_head_dim": 14})",
       {557840, 60180, 367040, 288, 288, 0, 0, 0}},
      {"minimax_m2",
       R"({"model_type": "minimax_m2", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_local_experts": 5, "num_experts_per_tok": 3})",
       {806780, 60180, 560180, 560, 560, 0, 0, 0}},
      {"minimax_m3_vl_text: an index in some layers",
       R"({"model_type": "minimax_m3_vl_text", "hidden_size": 60, "num_hidden_layers": 5,
    "num_attention_heads": 6, "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2,
    "head_dim": 14, "num_local_experts": 5, "num_experts_per_tok": 3, "dense_intermediate_size": 91,
    "shared_intermediate_size": 71, "index_n_heads": 2, "index_head_dim": 12, "index_block_size": 10,
    "index_topk_blocks": 3, "layer_types": ["full_attention", "full_attention", "minimax_m3_sparse",
    "minimax_m3_sparse", "minimax_m3_sparse"], "mlp_layer_types": ["dense", "sparse", "sparse",
    "sparse", "sparse"]})",
       {756812, 60180, 559532, 632, 632, 0, 0, 0}},
      {"mimo_v2_flash: more key heads in windows",
       R"({"model_type": "mimo_v2_flash", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 1, "head_dim": 14,
    "v_head_dim": 10, "n_routed_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53,
    "sliding_window": 100})",
       {393864, 60180, 317544, 432, 48, 0, 0, 0}},
  });
}

TEST(AwkwardModels, LayerTablesAndHybridsHaveTheirClassesCounts) {
  expect_counts({
      {"gemma4_text: tables, keys of other layers",
       R"({"model_type": "gemma4_text", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 1003, "num_kv_shared_layers": 2,
    "use_double_wide_mlp": true, "sliding_window": 100, "layer_types": ["sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "full_attention"]})",
       {1180414, 100300, 1180414, 4320, 4096, 0, 0, 0}},
      {"gemma4_text: experts beside a network, values of keys",
       R"({"model_type": "gemma4_text", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "hidden_size_per_layer_input": 0, "enable_moe_block": true, "num_experts": 5, "top_k_experts": 3,
    "moe_intermediate_size": 53, "attention_k_eq_v": true, "num_global_key_value_heads": 1,
    "global_head_dim": 26, "sliding_window": 100})",
       {500169, 60180, 404769, 552, 104, 0, 0, 0}},
      {"gemma3n_text: streams, tables, several widths",
       R"({"model_type": "gemma3n_text", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": [137, 137, 91, 91, 137], "vocab_size": 1003, "num_key_value_heads": 2,
    "head_dim": 14, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 1003,
    "num_kv_shared_layers": 2, "laurel_rank": 7, "altup_num_inputs": 3, "sliding_window": 100,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
    "full_attention"], "activation_sparsity_pattern": [0.0, 0.0, 0.0, 0.0, 0.0]})",
       {296980, 100300, 296980, 336, 112, 0, 0, 0}},
      {"nemotron_h: a letter for each layer, a latent",
       R"({"model_type": "nemotron_h", "hidden_size": 60, "num_attention_heads": 6, "num_key_value_heads": 2,
    "head_dim": 14, "intermediate_size": 137, "vocab_size": 1003, "hybrid_override_pattern": "ME*-M",
    "mamba_num_heads": 6, "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 10, "n_routed_experts":
    5, "num_experts_per_tok": 3, "moe_intermediate_size": 53, "moe_shared_expert_intermediate_size": 71,
    "moe_latent_size": 24})",
       {198832, 60180, 193744, 112, 112, 960, 0, 0}},
      {"granitemoehybrid",
       R"({"model_type": "granitemoehybrid", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads":
    6, "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_local_experts": 5,
    "num_experts_per_tok": 3, "shared_intermediate_size": 71, "mamba_n_heads": 6, "mamba_d_state": 10,
    "layer_types": ["linear_attention", "full_attention", "linear_attention", "linear_attention",
    "full_attention"]})",
       {894114, 60180, 647514, 160, 160, 3600, 0, 0}},
      {"falcon_h1: a scan beside attention",
       R"({"model_type": "falcon_h1", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "mamba_d_ssm": 48, "mamba_n_heads": 6, "mamba_d_state": 10, "mamba_rms_norm": true,
    "projectors_bias": true})",
       {364850, 60180, 364850, 560, 560, 2400, 0, 0}},
      {"lfm2_moe",
       R"({"model_type": "lfm2_moe", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_dense_layers": 1,
    "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53, "layer_types": ["conv",
    "conv", "full_attention", "conv", "full_attention"]})",
       {340480, 60180, 264160, 160, 160, 0, 0, 0}},
      {"deepseek_v4: entries of several tokens, streams",
       R"({"model_type": "deepseek_v4", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "head_dim": 14, "vocab_size": 1003, "q_lora_rank": 22, "o_groups": 2, "o_lora_rank": 9,
    "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 53, "index_n_heads": 4,
    "index_head_dim": 12, "index_topk": 100, "hc_mult": 3, "sliding_window": 100,
    "num_nextn_predict_layers": 0, "compress_ratios": [0, 4, 128, 4, 0]})",
       {628900, 60180, 390400, 80, 24, 0, 0, 0}},
  });
}

TEST(AwkwardModels, FurtherFamiliesHaveTheirClassesCounts) {
  expect_counts({
      {"dots1",
       R"({"model_type": "dots1", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "n_routed_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "n_shared_experts": 2,
    "first_k_dense_replace": 2})",
       {419680, 60180, 362440, 400, 400, 0, 0, 0}},
      {"hunyuan_v1_moe",
       R"({"model_type": "hunyuan_v1_moe", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads":
    6, "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_experts": 5, "moe_topk": 3})",
       {929660, 60180, 683060, 560, 560, 0, 0, 0}},
      {"seed_oss",
       R"({"model_type": "seed_oss", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14})",
       {312220, 60180, 312220, 560, 560, 0, 0, 0}},
      {"apertus",
       R"({"model_type": "apertus", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2})",
       {251330, 60180, 251330, 400, 400, 0, 0, 0}},
      {"olmo3: windows",
       R"({"model_type": "olmo3", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "sliding_window": 100})",
       {292720, 60180, 292720, 400, 80, 0, 0, 0}},
      {"ernie4_5",
       R"({"model_type": "ernie4_5", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14})",
       {251340, 60180, 251340, 560, 560, 0, 0, 0}},
  });
}

TEST(HybridLayers, PatternsAddUp) {
  const std::string config =
      R"({"model_type": "nemotron_h", "hidden_size": 60, "num_attention_heads": 6, "num_key_value_heads": 2,
    "vocab_size": 9, )";
  using base::codes, base::Codes;
  const auto read = [&](const std::string& rest) {
    return codes(base::refused([&] { read_config(base::source(config + rest)); }));
  };
  EXPECT_EQ(read(R"("num_hidden_layers": 3, "hybrid_override_pattern": "M*"})"), Codes{"O0922"});
  EXPECT_EQ(read(R"("hybrid_override_pattern": "M?*"})"), Codes{"O0903"});
  EXPECT_EQ(read(R"("mamba_num_heads": 9, "n_groups": 2, "hybrid_override_pattern": "M*"})"), Codes{"O0911"});
}

}  // namespace
}  // namespace orrery::formats::huggingface
