// Families that are documents (catalog/families/). Parameters are those of their classes in transformers 5.24.0,
// counted on the meta device; what a token meets and caches follows from the sizes.
#include "orrery/formats/huggingface/counted_test_util.h"

#include "orrery/formats/huggingface/families/described_family.h"

namespace orrery::formats::huggingface {
namespace {

TEST(DescribedFamilies, DenseOnesHaveTheirClassesCounts) {
  expect_counts({
      {"arcee: no gates",
       R"({"model_type": "arcee", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14, "mlp_bias":
    true})",
       {271405, 60180, 271405, 560, 560, 0, 0, 0}},
      {"cwm: windows in three of four",
       R"({"model_type": "cwm", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14})",
       {311520, 60180, 311520, 560, 224, 0, 0, 0}},
      {"exaone4: norms behind",
       R"({"model_type": "exaone4", "sliding_window": 100, "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "sliding_window_pattern": 3})",
       {292420, 60180, 292420, 400, 80, 0, 0, 0}},
      {"granite_swa: sinks",
       R"({"model_type": "granite_swa", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "sliding_window": 20})",
       {232170, 60180, 232170, 400, 160, 0, 0, 0}},
      {"hyperclovax: norms behind as well",
       R"({"model_type": "hyperclovax", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "use_post_norm": true})",
       {312120, 60180, 312120, 560, 560, 0, 0, 0}},
      {"ministral3",
       R"({"model_type": "ministral3", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14})",
       {311520, 60180, 311520, 560, 560, 0, 0, 0}},
      {"olmo: norms without a scale",
       R"({"model_type": "olmo", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2})",
       {291660, 60180, 291660, 400, 400, 0, 0, 0}},
      {"vaultgemma",
       R"({"model_type": "vaultgemma", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14})",
       {251340, 60180, 251340, 560, 224, 0, 0, 0}},
      {"jais2: layer norms, biases",
       R"({"model_type": "jais2", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14})",
       {273065, 60180, 273065, 560, 560, 0, 0, 0}},
      {"nanochat",
       R"({"model_type": "nanochat", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2})",
       {250560, 60180, 250560, 400, 400, 0, 0, 0}},
      {"helium",
       R"({"model_type": "helium", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 10})",
       {292320, 60180, 292320, 400, 400, 0, 0, 0}},
  });
}

TEST(DescribedFamilies, MixturesHaveTheirClassesCounts) {
  expect_counts({
      {"afmoe: gated attention, experts",
       R"({"model_type": "afmoe", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53, "num_dense_layers": 2,
    "num_shared_experts": 2})",
       {464735, 60180, 407495, 560, 112, 0, 0, 0}},
      {"exaone_moe: experts behind the first layers",
       R"({"model_type": "exaone_moe", "sliding_window": 100, "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "first_k_dense_replace": 2,
    "num_shared_experts": 2})",
       {419680, 60180, 362440, 400, 80, 0, 0, 0}},
      {"exaone_moe: files of K-EXAONE mark the layers that have experts",
       R"({"model_type": "exaone_moe", "sliding_window": 100, "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "first_last_k_dense_replace": 1,
    "is_moe_layer": [false, false, true, true, true], "num_shared_experts": 2})",
       {419680, 60180, 362440, 400, 80, 0, 0, 0}},
      {"granitemoeshared: a shared expert of its own width",
       R"({"model_type": "granitemoeshared", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads":
    6, "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_local_experts": 5,
    "num_experts_per_tok": 3, "shared_intermediate_size": 71})",
       {850920, 60180, 604320, 400, 400, 0, 0, 0}},
      {"phimoe: layer norms, biases",
       R"({"model_type": "phimoe", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_local_experts": 5,
    "num_experts_per_tok": 3, "attention_bias": true, "lm_head_bias": true})",
       {789483, 60180, 542883, 400, 400, 0, 0, 0}},
      {"solar_open",
       R"({"model_type": "solar_open", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14, "n_routed_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "n_shared_experts": 2})",
       {523620, 60180, 428220, 560, 560, 0, 0, 0}},
      {"mellum",
       R"({"model_type": "mellum", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_local_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53})",
       {428360, 60180, 332960, 560, 560, 0, 0, 0}},
      {"hy_v3: a dense layer first",
       R"({"model_type": "hy_v3", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53})",
       {443180, 60180, 366860, 560, 560, 0, 0, 0}},
      {"aria_text",
       R"({"model_type": "aria_text", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "moe_num_experts": 5, "moe_topk": 3, "moe_num_shared_experts": 2})",
       {1052820, 60180, 806220, 560, 560, 0, 0, 0}},
  });
}

TEST(DescribedFamilies, OtherNamesAndNormsHaveTheirClassesCounts) {
  expect_counts({
      {"xglm: other names",
       R"({"model_type": "xglm", "vocab_size": 1003, "d_model": 60, "num_layers": 5, "attention_heads": 6,
    "ffn_dim": 137})",
       {217885, 60180, 217885, 1200, 1200, 0, 0, 0}},
      {"persimmon: norms with biases of queries and keys",
       R"({"model_type": "persimmon", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003})",
       {278265, 60180, 278265, 1200, 1200, 0, 0, 0}},
      {"stablelm: side by side",
       R"({"model_type": "stablelm", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "use_parallel_residual":
    true, "use_qkv_bias": true})",
       {292880, 60180, 292880, 400, 400, 0, 0, 0}},
      {"stablelm: norms of every head",
       R"({"model_type": "stablelm", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "qk_layernorm": true})",
       {293380, 60180, 293380, 400, 400, 0, 0, 0}},
      {"ministral",
       R"({"model_type": "ministral", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "sliding_window": 20})",
       {311520, 60180, 311520, 560, 0, 0, 0, 0}},
      {"codegen",
       R"({"model_type": "codegen", "vocab_size": 1003, "n_embd": 60, "n_layer": 5, "n_head": 6, "rotary_dim":
    4})",
       {339583, 60180, 339583, 1200, 1200, 0, 0, 0}},
  });
}

TEST(DescribedFamilies, MixturesBehindWindowsHaveTheirClassesCounts) {
  expect_counts({
      {"kolibri1",
       R"({"model_type": "kolibri1", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14, "num_local_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "shared_expert_intermediate_size": 71,
    "sliding_window": 20})",
       {492860, 60180, 397460, 560, 112, 0, 0, 0}},
      {"granitemoe_swa: sinks and experts",
       R"({"model_type": "granitemoe_swa", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads":
    6, "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "num_local_experts": 5,
    "num_experts_per_tok": 3, "shared_intermediate_size": 71, "sliding_window": 20})",
       {850950, 60180, 604350, 400, 160, 0, 0, 0}},
      {"flint: sinks, two dense layers, a list",
       R"({"model_type": "flint", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53,
    "shared_expert_intermediate_size": 71, "mlp_only_layers": [0, 1], "sliding_window": 20,
    "layer_types": ["full_attention", "full_attention", "sliding_attention", "sliding_attention",
    "full_attention"]})",
       {420050, 60180, 362810, 560, 336, 0, 0, 0}},
      {"cohere2_moe: a dense layer of its own width",
       R"({"model_type": "cohere2_moe", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "num_experts": 5, "num_experts_per_tok": 3, "num_shared_experts": 2,
    "prefix_dense_intermediate_size": 71, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse",
    "sparse"], "sliding_window": 20})",
       {832200, 60180, 634920, 560, 112, 0, 0, 0}},
      {"sarvam_moe",
       R"({"model_type": "sarvam_moe", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "head_dim": 14,
    "n_routed_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 53, "n_shared_experts": 2})",
       {481340, 60180, 405020, 560, 560, 0, 0, 0}},
  });
}

TEST(DescribedFamilies, LatentsHaveTheirClassesCounts) {
  expect_counts({
      {"youtu: latents",
       R"({"model_type": "youtu", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "v_head_dim": 12,
    "q_lora_rank": 31, "kv_lora_rank": 23, "qk_rope_head_dim": 6, "qk_nope_head_dim": 8})",
       {250830, 60180, 250830, 290, 290, 0, 0, 0}},
      {"minicpm3: latents, values as wide as the hidden by the heads",
       R"({"model_type": "minicpm3", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "mlp_bias": true,
    "q_lora_rank": 31, "kv_lora_rank": 23, "qk_rope_head_dim": 6, "qk_nope_head_dim": 8})",
       {247520, 60180, 247520, 290, 290, 0, 0, 0}},
      {"axk1: latents, a norm behind each mixture",
       R"({"model_type": "axk1", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "n_routed_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "n_shared_experts": 2, "v_head_dim": 12,
    "n_group": 1, "topk_group": 1, "q_lora_rank": 31, "kv_lora_rank": 23, "qk_rope_head_dim": 6,
    "qk_nope_head_dim": 8})",
       {480930, 60180, 404610, 290, 290, 0, 0, 0}},
      {"sarvam_mla",
       R"({"model_type": "sarvam_mla", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "n_routed_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "n_shared_experts": 2, "v_head_dim": 12,
    "q_lora_rank": 31, "kv_lora_rank": 23, "qk_rope_head_dim": 6, "qk_nope_head_dim": 8, "n_group": 1,
    "topk_group": 1})",
       {480690, 60180, 404370, 290, 290, 0, 0, 0}},
      {"mistral4",
       R"({"model_type": "mistral4", "hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6,
    "intermediate_size": 137, "vocab_size": 1003, "num_key_value_heads": 2, "n_routed_experts": 5,
    "num_experts_per_tok": 3, "moe_intermediate_size": 53, "n_shared_experts": 2, "v_head_dim": 12,
    "q_lora_rank": 31, "kv_lora_rank": 23, "qk_rope_head_dim": 6, "qk_nope_head_dim": 8, "n_group": 1,
    "topk_group": 1})",
       {523110, 60180, 427710, 290, 290, 0, 0, 0}},
  });
}

TEST(DescribedFamilies, EveryTypeIsFoundInItsDocumentAndNamesItsSource) {
  for (const std::string& type : described_types()) {
    SCOPED_TRACE(type);
    const Family* family = described_family(type);
    ASSERT_NE(family, nullptr);
    for (const char* field : {"title", "source"}) {
      ASSERT_NE(family->document->find(field), nullptr);
      EXPECT_FALSE(family->document->find(field)->scalar.empty());
    }
  }
  EXPECT_EQ(described_family("no_such_type"), nullptr);
}

std::vector<std::string> codes_of(const std::string& document) {
  return base::codes(base::refused([&] { read_families(base::source(document)); }));
}

TEST(DescribedFamilies, WhatADocumentCannotSayIsRefusedAtItsPlace) {
  EXPECT_EQ(codes_of("types: {mine: {}}\n"), std::vector<std::string>{});
  for (const char* bad : {"attention: {bias: x}\n", "types: {}\n", "- types\n", "types: {mine: {hidden_size: many}}\n",
                          "types: {mine: {}}\nattention: {head: 8}\n", "types: {mine: {}}\nattentoin: {}\n",
                          "types: {mine: {}}\nmixture: 8\n"})
    EXPECT_EQ(codes_of(bad), std::vector<std::string>{"O0939"}) << bad;
}

}  // namespace
}  // namespace orrery::formats::huggingface
