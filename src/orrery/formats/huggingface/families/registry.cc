// One row a type; what the row's function reads stands beside it. Cost: a look through some 70 rows.
#include "orrery/formats/huggingface/families/registry.h"

#include <algorithm>

#include "orrery/formats/huggingface/families/families.h"

namespace orrery::formats::huggingface {
namespace {

using Sizes = std::vector<std::pair<std::string_view, long>>;

Sizes usual(long hidden, long layers, long heads, long inner, long vocab, long positions) {
  return {{"hidden_size", hidden},      {"num_hidden_layers", layers}, {"num_attention_heads", heads},
          {"intermediate_size", inner}, {"vocab_size", vocab},         {"max_position_embeddings", positions}};
}

Sizes with(Sizes sizes, const Sizes& more) {
  sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes;
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
      {"gpt2", read_gpt2, true},
      {"gptj", read_gptj},
      {"gpt_bigcode", read_gpt_bigcode, true},
      {"gpt_neox", read_gpt_neox},
      {"opt", read_opt, true},
      {"bloom", read_bloom},
      {"falcon", read_falcon},
      {"mpt", read_mpt},
      {"phi", read_phi},
      {"llama", read_llama, false, usual(4096, 32, 32, 11008, 32000, 2048)},
      {"mistral", read_mistral, false, usual(4096, 32, 32, 14336, 32000, 131072)},
      {"qwen2", read_qwen2, false, usual(4096, 32, 32, 22016, 151936, 32768)},
      {"qwen2_5_vl_text", read_qwen2, false, usual(8192, 80, 64, 29568, 152064, 32768)},
      {"qwen3", read_qwen3, false, usual(4096, 32, 32, 22016, 151936, 32768)},
      {"qwen3_vl_text", read_qwen3, false, usual(4096, 32, 32, 22016, 151936, 128000)},
      {"phi3", read_phi3, false, usual(3072, 32, 32, 8192, 32064, 4096)},
      {"gemma", read_gemma, false, usual(3072, 28, 16, 24576, 256000, 8192)},
      {"gemma2", read_gemma2, false, usual(2304, 26, 8, 9216, 256000, 8192)},
      {"gemma3_text", read_gemma3, false, usual(2304, 26, 8, 9216, 262208, 131072)},
      {"gemma3", read_gemma3, false, usual(2304, 26, 8, 9216, 262208, 131072), "gemma3_text"},
      {"gemma3n_text", read_gemma3n, false, usual(2048, 35, 8, 16384, 262400, 32768)},
      {"gemma3n", read_gemma3n, false, usual(2048, 35, 8, 16384, 262400, 32768), "gemma3n_text"},
      {"gemma4_text", read_gemma4, false, usual(2304, 30, 8, 9216, 262144, 131072)},
      {"gemma4", read_gemma4, false, usual(2304, 30, 8, 9216, 262144, 131072), "gemma4_text"},
      {"cohere", read_cohere, false, positions(8192)},
      {"cohere2", read_cohere2, false, usual(8192, 40, 64, 22528, 256000, 8192)},
      {"olmo2", read_olmo2, false, positions(2048)},
      {"olmo3", read_olmo3, false, positions(2048)},
      {"granite", read_granite, false, usual(4096, 32, 32, 11008, 32000, 2048)},
      {"starcoder2", read_starcoder2, false, positions(4096)},
      {"nemotron", read_nemotron, false, positions(4096)},
      {"glm", read_glm, false, usual(4096, 40, 32, 13696, 151552, 131072)},
      {"glm4", read_glm4, false, usual(4096, 40, 32, 13696, 151552, 131072)},
      {"smollm3", read_smollm3, false, usual(2048, 36, 16, 11008, 128256, 32768)},
      {"seed_oss", read_seed_oss, false, positions(524288)},
      {"apertus", read_apertus, false, positions(65536)},
      {"hunyuan_v1_dense", read_hunyuan, false, positions(2048)},
      {"ernie4_5", read_ernie4_5, false, positions(131072)},
      {"mimo", read_mimo, false, positions(32768)},
      {"mixtral", read_mixtral, false, usual(4096, 32, 32, 14336, 32000, 131072)},
      {"qwen2_moe", read_qwen2_moe, false, positions(32768)},
      {"qwen3_moe", read_qwen3_moe, false, usual(2048, 24, 32, 6144, 151936, 32768)},
      {"qwen3_vl_moe_text", read_qwen3_moe, false,
       with(usual(2048, 24, 16, 5632, 151936, 128000), {{"num_key_value_heads", 16},
                                                        {"num_experts", 60},
                                                        {"num_local_experts", 60},
                                                        {"num_experts_per_tok", 4},
                                                        {"moe_intermediate_size", 1408}})},
      {"qwen3_omni_moe_text", read_qwen3_moe, false, usual(2048, 28, 28, 18944, 3584, 32768)},
      {"olmoe", read_olmoe, false, positions(4096)},
      {"gpt_oss", read_gpt_oss, false, positions(131072)},
      {"llama4_text", read_llama4, false, usual(5120, 48, 40, 8192, 202048, 131072)},
      {"llama4", read_llama4, false, usual(5120, 48, 40, 8192, 202048, 131072), "llama4_text"},
      {"deepseek_v2", read_deepseek_v2, false, positions(2048)},
      {"deepseek_v3", read_deepseek_v3, false, usual(7168, 61, 128, 18432, 129280, 4096)},
      {"deepseek_v32", read_deepseek_v32, false, usual(7168, 61, 128, 18432, 129280, 163840)},
      {"glm_moe_dsa", read_glm_moe_dsa, false, usual(6144, 78, 64, 12288, 154880, 202752)},
      {"glm4_moe_lite", read_glm4_moe_lite, false, usual(2048, 47, 20, 10240, 154880, 202752)},
      {"deepseek_v4", read_deepseek_v4, false, positions(1048576)},
      {"kimi_k2", read_deepseek_v3, false, usual(7168, 61, 64, 18432, 163840, 131072)},
      {"glm4_moe", read_glm4_moe, false, usual(4096, 46, 96, 10944, 151552, 131072)},
      {"ernie4_5_moe", read_ernie4_5_moe, false, positions(131072)},
      {"minimax_m2", read_minimax_m2, false, usual(3072, 62, 48, 1536, 200064, 196608)},
      {"minimax_m3_vl_text", read_minimax_m3, false, usual(6144, 60, 64, 3072, 200064, 524288)},
      {"minimax_m3", read_minimax_m3, false, usual(6144, 60, 64, 3072, 200064, 524288)},
      {"mimo_v2_flash", read_mimo_v2_flash, false, usual(4096, 48, 64, 16384, 152576, 131072)},
      {"step3p5", read_step3p5, false, usual(4096, 45, 64, 11264, 128815, 128000)},
      {"dots1", read_dots1, false, positions(2048)},
      {"hunyuan_v1_moe", read_hunyuan_moe, false, positions(2048)},
      {"flex_olmo", read_flex_olmo, false, positions(4096)},
      {"longcat_flash", read_longcat, false, positions(131072)},
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
      {"kimi_linear", read_kimi_linear, false, positions(1048576)},
      {"t5", read_t5, true},
      {"bart", read_bart, true},
      {"whisper", read_whisper},
      {"vit", read_vit},
      // Composites, whose language model stands in `text_config`.
      {"llava", read_llama, false, {}, "llama"},
      {"mistral3", read_mistral, false, {}, "mistral"},
      {"qwen2_5_vl", read_qwen2, false, {}, "qwen2_5_vl_text"},
      {"qwen3_vl", read_qwen3, false, {}, "qwen3_vl_text"},
      {"qwen3_vl_moe", read_qwen3_moe, false, {}, "qwen3_vl_moe_text"},
      {"qwen3_5", read_qwen3_5, false, usual(4096, 32, 16, 12288, 248320, 32768), "qwen3_5_text"},
      {"qwen3_5_moe", read_qwen3_5_moe, false, usual(2048, 40, 16, 0, 248320, 32768), "qwen3_5_moe_text"},
      {"kimi_k25", read_deepseek_v3, false, usual(7168, 61, 128, 18432, 129280, 4096), "deepseek_v3"},
      {"minimax_m3_vl", read_minimax_m3, false, usual(6144, 60, 64, 3072, 200064, 524288), "minimax_m3_vl_text"},
      {"step3p7", read_step3p5, false, usual(4096, 45, 64, 11264, 128815, 128000), "step3p5"},
  };
  return all;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family& family) { return family.model_type == model_type; });
  return found == families().end() ? nullptr : &*found;
}

}  // namespace orrery::formats::huggingface
