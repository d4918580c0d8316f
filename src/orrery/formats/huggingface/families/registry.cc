// One row a type that a function reads; the others are documents (described_family.h). Cost: a look through some 70
// rows.
#include "orrery/formats/huggingface/families/registry.h"

#include <algorithm>

#include "orrery/formats/huggingface/families/described_family.h"
#include "orrery/formats/huggingface/families/families.h"

namespace orrery::formats::huggingface {
namespace {

using Sizes = std::vector<std::pair<std::string_view, long>>;

Sizes usual(long hidden, long layers, long heads, long inner, long vocab, long positions) {
  return {{"hidden_size", hidden},      {"num_hidden_layers", layers}, {"num_attention_heads", heads},
          {"intermediate_size", inner}, {"vocab_size", vocab},         {"max_position_embeddings", positions}};
}

// Of types that are nobody's language model.
Sizes positions(long positions) {
  return {{"max_position_embeddings", positions}};
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"bert", read_bert, true},
      {"roberta", read_roberta, true},
      {"albert", read_albert},
      {"distilbert", read_distilbert, true},
      {"electra", read_electra, true},
      {"modernbert", read_modernbert},
      {"modernbert-decoder", read_modernbert},
      {"gpt2", read_gpt2, true},
      {"gptj", read_gptj},
      {"gpt_bigcode", read_gpt_bigcode, true},
      {"gpt_neox", read_gpt_neox},
      {"opt", read_opt, true},
      {"bloom", read_bloom},
      {"falcon", read_falcon},
      {"mpt", read_mpt},
      {"phi", read_phi},
      {"gemma3n_text", read_gemma3n, false, usual(2048, 35, 8, 16384, 262400, 32768)},
      {"gemma3n", read_gemma3n, false, usual(2048, 35, 8, 16384, 262400, 32768), "gemma3n_text"},
      {"gemma4_text", read_gemma4, false, usual(2304, 30, 8, 9216, 262144, 131072)},
      {"gemma4", read_gemma4, false, usual(2304, 30, 8, 9216, 262144, 131072), "gemma4_text"},
      {"smollm3", read_smollm3, false, usual(2048, 36, 16, 11008, 128256, 32768)},
      {"apertus", read_apertus, false, positions(65536)},
      {"qwen2_moe", read_qwen2_moe, false, positions(32768)},
      {"gpt_oss", read_gpt_oss, false, positions(131072)},
      {"llama4_text", read_llama4, false, usual(5120, 48, 40, 8192, 202048, 131072)},
      {"llama4", read_llama4, false, usual(5120, 48, 40, 8192, 202048, 131072), "llama4_text"},
      {"deepseek_v2", read_deepseek_v2, false, positions(2048)},
      {"deepseek_v3", read_deepseek_v3, false, usual(7168, 61, 128, 18432, 129280, 4096)},
      {"deepseek_v32", read_deepseek_v32, false, usual(7168, 61, 128, 18432, 129280, 163840)},
      {"glm_moe_dsa", read_glm_moe_dsa, false, usual(6144, 78, 64, 12288, 154880, 202752)},
      {"glm4_moe_lite", read_glm4_moe_lite, false, usual(2048, 47, 20, 10240, 154880, 202752)},
      {"deepseek_v4", read_deepseek_v4, false, positions(1048576)},
      {"deepseek_ref", read_deepseek_v4, false, positions(1048576)},
      {"kimi_k2", read_deepseek_v3, false, usual(7168, 61, 64, 18432, 163840, 131072)},
      {"glm4_moe", read_glm4_moe, false, usual(4096, 46, 96, 10944, 151552, 131072)},
      {"ernie4_5_moe", read_ernie4_5_moe, false, positions(131072)},
      {"minimax_m2", read_minimax_m2, false, usual(3072, 62, 48, 1536, 200064, 196608)},
      {"minimax_m3_vl_text", read_minimax_m3, false, usual(6144, 60, 64, 3072, 200064, 524288)},
      {"minimax_m3", read_minimax_m3, false, usual(6144, 60, 64, 3072, 200064, 524288)},
      {"mimo_v2_flash", read_mimo_v2_flash, false, usual(4096, 48, 64, 16384, 152576, 131072)},
      {"step3p5", read_step3p5, false, usual(4096, 45, 64, 11264, 128815, 128000)},
      {"hunyuan_v1_moe", read_hunyuan_moe, false, positions(2048)},
      {"longcat_flash", read_longcat, false, positions(131072)},
      {"codegen", read_gptj},
      {"apertus1p5_text", read_apertus, false, positions(65536)},
      {"glm4v_moe_text", read_glm4_moe, false, usual(4096, 46, 96, 10944, 151424, 65536)},
      {"bailing_moe", read_bailing_moe},
      {"bailing_moe_v2", read_bailing_moe},
      {"mamba", read_mamba},
      {"mamba2", read_mamba2},
      {"jamba", read_jamba, false, positions(262144)},
      {"lfm2", read_lfm2, false, usual(2560, 32, 32, 12288, 65536, 128000)},
      {"lfm2_moe", read_lfm2_moe, false, usual(2048, 32, 32, 7168, 65536, 128000)},
      {"nemotron_h", read_nemotron_h, false, positions(4096)},
      {"granitemoehybrid", read_granite_hybrid, false, positions(2048)},
      {"falcon_h1", read_falcon_h1, false, positions(8192)},
      {"minimax", read_minimax, false, positions(131072)},
      {"qwen3_next", read_qwen3_next, false, positions(32768)},
      {"qwen3_5_text", read_qwen3_5, false, usual(4096, 32, 16, 12288, 248320, 32768)},
      {"qwen3_5_moe_text", read_qwen3_5_moe, false, usual(2048, 40, 16, 0, 248320, 32768)},
      {"nemotron-nas", read_nemotron_nas, false, positions(2048)},
      {"kimi_k3", read_kimi_linear, false, positions(1048576), "kimi_linear"},
      {"kimi_linear", read_kimi_linear, false, positions(1048576)},
      {"bailing_hybrid", read_bailing_hybrid, false, positions(262144)},
      {"bamba", read_bamba, false, positions(262144)},
      {"olmo_hybrid", read_olmo_hybrid, false, positions(65536)},
      {"lfm3", read_lfm3, false, usual(2048, 24, 16, 7680, 128000, 128000)},
      {"lara_mini", read_lara_mini, false, positions(131072)},
      {"recurrent_gemma", read_recurrent_gemma},
      {"rwkv", read_rwkv, false, {{"context_length", 1024}}},
      {"falcon_mamba", read_mamba},
      {"laguna", read_laguna, false, positions(131072)},
      {"beam", read_beam, false, positions(8192)},
      {"muse_spark_text", read_muse_spark, false, usual(8192, 62, 128, 16384, 202048, 1048576)},
      {"muse_spark", read_muse_spark, false, usual(8192, 62, 128, 16384, 202048, 1048576), "muse_spark_text"},
      {"dbrx", read_dbrx},
      {"hy_v4", read_hy_v4, false, positions(262144)},
      {"hy_v4_vl_text", read_hy_v4, false, usual(2816, 34, 32, 6912, 120832, 262144)},
      {"hy_v4_vl", read_hy_v4, false, usual(2816, 34, 32, 6912, 120832, 262144), "hy_v4_vl_text"},
      {"gpt_neo", read_gpt_neo, true},
      {"biogpt", read_biogpt, true},
      {"bitnet", read_bitnet, false, positions(2048)},
      {"molmo2_text", read_molmo2, false, usual(4096, 36, 32, 12288, 151936, 36864)},
      {"molmo2", read_molmo2, false, usual(4096, 36, 32, 12288, 151936, 36864), "molmo2_text"},
      {"gemma4_unified_text", read_gemma4, false, usual(2304, 30, 8, 9216, 262144, 262144)},
      {"gemma4_unified", read_gemma4, false, usual(2304, 30, 8, 9216, 262144, 262144), "gemma4_unified_text"},
      {"openai-gpt", read_openai_gpt, true},
      {"ctrl", read_ctrl, true},
      {"ernie", read_bert, true},
      {"megatron-bert", read_bert, true},
      {"roberta-prelayernorm", read_roberta, true},
      {"xlm-roberta-xl", read_roberta, true},
      {"mvp", read_bart, true},
      {"camembert", read_roberta, true},
      {"xlm-roberta", read_roberta, true},
      {"data2vec-text", read_roberta, true},
      {"t5", read_t5, true},
      {"bart", read_bart, true},
      {"mbart", read_bart, true},
      {"plbart", read_bart, true},
      {"marian", read_bart, true},
      {"pegasus", read_bart, true},
      {"blenderbot", read_bart, true},
      {"blenderbot-small", read_bart, true},
      {"m2m_100", read_bart, true},
      {"mt5", read_t5, true},
      {"whisper", read_whisper},
      {"vit", read_vit},
      // Composites, whose language model stands in `text_config`.
      {"qwen3_5", read_qwen3_5, false, usual(4096, 32, 16, 12288, 248320, 32768), "qwen3_5_text"},
      {"qwen3_5_moe", read_qwen3_5_moe, false, usual(2048, 40, 16, 0, 248320, 32768), "qwen3_5_moe_text"},
      {"kimi_k25", read_deepseek_v3, false, usual(7168, 61, 128, 18432, 129280, 4096), "deepseek_v3"},
      {"minimax_m3_vl", read_minimax_m3, false, usual(6144, 60, 64, 3072, 200064, 524288), "minimax_m3_vl_text"},
      {"glm4v_moe", read_glm4_moe, false, usual(4096, 46, 96, 10944, 151424, 65536), "glm4v_moe_text"},
      {"apertus1p5", read_apertus, false, positions(65536), "apertus1p5_text"},
      {"step3p7", read_step3p5, false, usual(4096, 45, 64, 11264, 128815, 128000), "step3p5"},
  };
  return all;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family& family) { return family.model_type == model_type; });
  return found == families().end() ? described_family(model_type) : &*found;
}

}  // namespace orrery::formats::huggingface
