// Bytes of weights as files store them, against published checkpoints and counts by hand.
#include "orrery/formats/huggingface/checkpoint_weights.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/config_test_util.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes, base::Count;

const ReadOptions kWarned = {.outside = Outside::kWarned};

StoredWeights weights_of(const std::string& text) {
  return read_config(base::source(text), kWarned).weights;
}

Codes warned(const std::string& text) {
  return warnings_of(text, kWarned);
}

// The sizes of Llama 3.1 8B, in 16 bit.
std::string llama8(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16")" +
         (more.empty() ? "" : ", " + more) + "}";
}
std::string quantised(const std::string& config) {
  return llama8("\"quantization_config\": {" + config + "}");
}

constexpr double kMatrices = 6979321856;  // of the layers
constexpr double kRest = 2 * (8030261248 - kMatrices);

std::string gpt_oss(int layers, int experts) {
  return R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": )" + std::to_string(layers) +
         R"(, "num_local_experts": )" + std::to_string(experts) +
         R"(, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880,
    "num_experts_per_tok": 4, "experts_per_token": 4, "vocab_size": 201088, "sliding_window": 128,
    "max_position_embeddings": 131072, "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert":
    ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}})";
}

TEST(StoredWeights, AreThoseOfPublishedCheckpoints) {
  // OpenAI, "gpt-oss model card", table 1: 60.8 GiB and 12.8 GiB.
  EXPECT_NEAR(weights_of(gpt_oss(36, 128)).bytes / (1 << 30), 60.8, 0.05);
  EXPECT_NEAR(weights_of(gpt_oss(24, 32)).bytes / (1 << 30), 12.8, 0.05);
  EXPECT_EQ(weights_of(gpt_oss(24, 32)).bits, 4);
  EXPECT_EQ(warned(gpt_oss(24, 32)), Codes{});
}

TEST(StoredWeights, EveryMethodHasItsScales) {
  const struct {
    const char* config;
    double bits_of_a_weight, scales;
  } methods[] = {
      {R"("quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true)", 4, 20.0 / 128},
      {R"("quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": false)", 4, 16.0 / 64},
      {R"("quant_method": "auto-round", "bits": 3, "group_size": 128)", 3, 19.0 / 128},
      {R"("quant_method": "fp8", "weight_block_size": [128, 128])", 8, 32.0 / (128 * 128)},
      {R"("quant_method": "fp8")", 8, 32.0 / (128 * 128)},
      {R"("load_in_4bit": true, "quant_method": "bitsandbytes")", 4, 32.0 / 64},
      {R"("load_in_4bit": true, "bnb_4bit_use_double_quant": true)", 4, (8 + 32.0 / 256) / 64},
      {R"("quant_method": "torchao", "quant_type": "int4_weight_only", "quant_type_kwargs": {"group_size": 32})", 4, 1},
      {R"("quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data":
        {"group_size": 256}}})",
       4, 32.0 / 256},
      {R"("quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 2, "group_size": 64}})", 2, 0.5},
      {R"("quant_method": "quanto", "weights": "int4")", 4, 32.0 / 128},
  };
  for (const auto& method : methods) {
    SCOPED_TRACE(method.config);
    const StoredWeights w = weights_of(quantised(method.config));
    EXPECT_EQ(w.converted, kMatrices);
    EXPECT_EQ(w.bits, method.bits_of_a_weight);
    EXPECT_DOUBLE_EQ(w.scale_bytes, kMatrices * method.scales / 8);
    EXPECT_DOUBLE_EQ(w.bytes, kRest + kMatrices * (method.bits_of_a_weight + method.scales) / 8);
  }
  // The inputs' order of GPTQ: 32 bits for each input of seven matrices.
  EXPECT_DOUBLE_EQ(weights_of(quantised(R"("quant_method": "gptq", "bits": 4, "group_size": 128)")).scale_bytes,
                   kMatrices * 20 / 128 / 8 + 32.0 * 4 * (6 * 4096 + 14336));
}

TEST(StoredWeights, TheLogitsMatrixIsConvertedWhereTheFileSaysSo) {
  const std::string groups =
      R"("quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": {"group_0": {"targets":
        ["Linear"], "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": true}}}, "ignore": )";
  EXPECT_EQ(weights_of(quantised(groups + R"(["lm_head"])")).converted, kMatrices);
  EXPECT_EQ(weights_of(quantised(groups + R"(["re:.*lm_head"])")).converted, kMatrices);
  EXPECT_EQ(weights_of(quantised(groups + "[]")).converted, kMatrices + 4096.0 * 128256);
  EXPECT_EQ(weights_of(quantised(R"("quant_method": "fp8", "modules_to_not_convert": ["lm_head"])")).converted,
            kMatrices);
  EXPECT_EQ(weights_of(quantised(R"("quant_method": "fp8", "modules_to_not_convert": [])")).converted,
            kMatrices + 4096.0 * 128256);
}

// The sizes of DeepSeek V3 and R1.
std::string deepseek(const std::string& more) {
  return R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4,
    "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280, "max_position_embeddings": 163840,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", )" +
         more + "}";
}

// model.safetensors.index.json of an AWQ DeepSeek R1 (kvcache-ai/sglang_awq).
TEST(StoredWeights, OfDeepSeekR1ByAwqAreThoseOfItsIndex) {
  EXPECT_DOUBLE_EQ(
      weights_of(
          deepseek(
              R"("quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true})"))
          .bytes,
      364589799936);
}

// The tensors of deepseek-ai/DeepSeek-V3, as the example of github.com/simpx/model-inspect adds them up: the layer that
// predicts ahead among them, with tables and logits of its own, which the report counts once: 685 B stored, 671 B and
// 11.6 B different ones.
TEST(StoredWeights, OfDeepSeekV3WithItsLayerAheadAreThoseOfItsTensors) {
  ReadOptions ahead = kWarned;
  ahead.ahead = 0;
  const auto v3 = read_config(base::source(deepseek(R"("num_nextn_predict_layers": 1, "quantization_config":
    {"quant_method": "fp8", "weight_block_size": [128, 128]})")),
                              ahead);
  EXPECT_DOUBLE_EQ(v3.weights.bytes, 688574839360);
  const workload::Parameters counted = workload::parameters(v3.transformer);
  EXPECT_EQ(counted.total, 682636472320);
  EXPECT_EQ(counted.total + 2 * Count{129280} * 7168, 684489830400);  // 685 B, as the hub has it
}

// Tencent's report of Hy3: 295 B parameters, and 3.8 B of the layer that predicts ahead. By hand: attention 75,497,728,
// router and 193 experts 3,643,539,456, five norms 20,480, the matrix 33,554,432.
TEST(StoredWeights, OfHy3sLayerAheadAreItsReports) {
  const std::string hy3 = R"({"model_type": "hy_v3", "hidden_size": 4096, "num_hidden_layers": 80,
    "num_attention_heads": 64, "intermediate_size": 13312, "vocab_size": 120832, "num_nextn_predict_layers": 1})";
  ReadOptions ahead = kWarned;
  ahead.ahead = 0;
  const auto total = [&](const ReadOptions& options) {
    return workload::parameters(read_config(base::source(hy3), options).transformer).total;
  };
  EXPECT_EQ(total(kWarned), 295033528320);
  EXPECT_EQ(total(ahead) - total(kWarned), 75497728 + 3643539456 + 20480 + 33554432);
}

// Whether the last layer of Ling 2.5 attends or not: a module is a layer that attends, a matrix and three norms.
TEST(StoredWeights, OfLings25LayerAheadAreThoseOfALayerThatAttends) {
  const auto total = [](Count layers, std::optional<Count> modules) {
    ReadOptions options = kWarned;
    options.ahead = modules;
    const std::string ling = R"({"model_type": "bailing_hybrid", "hidden_size": 64, "num_attention_heads": 4,
      "intermediate_size": 128, "vocab_size": 100, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 12,
      "v_head_dim": 16, "q_lora_rank": 8, "num_experts": 16, "num_experts_per_tok": 2, "n_group": 4, "topk_group": 2,
      "first_k_dense_replace": 1, "num_nextn_predict_layers": 1, "layer_group_size": 3, "num_hidden_layers": )";
    return workload::parameters(read_config(base::source(ling + std::to_string(layers) + "}"), options).transformer)
        .total;
  };
  const Count attending = total(6, {}) - total(5, {});
  EXPECT_NE(attending, total(5, {}) - total(4, {})) << "that of a layer of deltas";
  for (const Count layers : {5, 6})
    EXPECT_EQ(total(layers, 0) - total(layers, {}), attending + 2 * 64 * 64 + 3 * 64) << layers;
}

// Kimi K3's list of tensors has 374 vectors of 7,168 that weigh its residual streams: four of each of 93 layers, two
// behind the last. A norm of the latent stands in each of its 92 mixtures.
TEST(StoredWeights, OfKimiK3sResidualStreamsAreTheVectorsOfItsTensors) {
  const auto total = [](const std::string& more) {
    const std::string k3 = R"({"model_type": "kimi_k3", "hidden_size": 7168, "num_hidden_layers": 93,
      "num_attention_heads": 96, "intermediate_size": 33792, "vocab_size": 163840, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "num_experts": 896,
      "num_experts_per_token": 16, "moe_intermediate_size": 3072, "routed_expert_hidden_size": 3584)";
    return workload::parameters(read_config(base::source(k3 + more + "}"), kWarned).transformer).total;
  };
  const Count plain = total("");
  EXPECT_EQ(total(R"(, "attn_res_block_size": null)"), plain);
  EXPECT_EQ(total(R"(, "attn_res_block_size": 12)") - plain, Count{374} * 7168);
  EXPECT_EQ(total(R"(, "latent_moe_use_norm": true)") - plain, Count{92} * 3584);
}

// Of ModelOpt's lists, `mtp.layers.0*` keeps the layer that predicts ahead in 16 bits.
TEST(StoredWeights, ALayerAheadIsKeptUnderTheNameOfItsRoom) {
  ReadOptions ahead = kWarned;
  ahead.ahead = 0;
  const auto with = [&](const std::string& kept) {
    return read_config(base::source(deepseek(R"("num_nextn_predict_layers": 1, "quantization_config": {"quant_method":
      "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head")" +
                                             kept + "]}")),
                       ahead);
  };
  const auto all = with(""), named = with(R"(, "mtp.layers.0*")"), numbered = with(R"(, "model.layers.61*")");
  EXPECT_GT(all.weights.converted, named.weights.converted + 11'000'000'000);
  EXPECT_EQ(named.weights.converted, numbered.weights.converted);
  EXPECT_EQ(named.diagnostics.all().size(), all.diagnostics.all().size());
}

// A published Qwen3.6 27B (fantasylord/Qwen36) lists `linear_attn` beside its two narrow matrices, and its index has
// the others packed.
TEST(StoredWeights, ARoomInTheListOfCompressedTensorsSaysNothingOfWhatIsInside) {
  const auto converted = [](const std::string& names) {
    return weights_of(quantised(R"("quant_method": "compressed-tensors", "config_groups": {"a": {"targets": ["Linear"],
      "weights": {"num_bits": 4, "group_size": 128, "strategy": "group"}}}, "ignore": ["lm_head", )" +
                                names + "]"))
        .converted;
  };
  EXPECT_EQ(converted(R"("model.layers.0.self_attn")"), kMatrices);
  EXPECT_EQ(converted(R"("model.layers.0.self_attn.q_proj")"), kMatrices - 4096.0 * 4096);
  EXPECT_EQ(converted(R"("re:.*self_attn")"), kMatrices - 32 * (2 * 4096.0 * 4096 + 2 * 4096.0 * 1024));
}

TEST(StoredWeights, ModulesThatTheFileNamesStayAsTheyAre) {
  const auto without = [](const std::string& names) {
    return kMatrices -
           static_cast<double>(
               weights_of(quantised(R"("quant_method": "fp8", "modules_to_not_convert": ["lm_head", )" + names + "]"))
                   .converted);
  };
  constexpr double kQueries = 4096.0 * 4096, kUp = 4096.0 * 14336;
  EXPECT_EQ(without(R"("model.layers.3.self_attn.q_proj")"), kQueries);
  EXPECT_EQ(without(R"("model.layers.3.self_attn.q_proj", "model.layers.31.mlp.up_proj")"), kQueries + kUp);
  EXPECT_EQ(without(R"("q_proj")"), 32 * kQueries);
  EXPECT_EQ(without(R"("mlp")"), 32 * 3 * kUp);
  EXPECT_EQ(without(R"("re:model\\.layers\\.(0|1)\\.mlp.*")"), 2 * 3 * kUp);
  EXPECT_EQ(without(R"("model.layers.0", "model.layers.0.mlp")"), kMatrices / 32);
  EXPECT_EQ(without(R"("model.layers.0.input_layernorm", "model.embed_tokens")"), 0);
}

TEST(StoredWeights, NamesThatNameNothingAreTold) {
  const auto listed = [](const std::string& names) {
    return warned(quantised(R"("quant_method": "fp8", "modules_to_not_convert": [)" + names + "]"));
  };
  EXPECT_EQ(listed(R"("lm_head", "model.layers.0.input_layernorm", "model.norm")"), Codes{});
  EXPECT_EQ(listed(R"("lm_haed")"), Codes{"O0926"});
  EXPECT_EQ(listed(R"("lm_head", "model.layers.99.mlp")"), Codes{"O0926"});
  EXPECT_EQ(listed(R"("lm_head", "re:(a)*")"), Codes{"O0926"});
}

TEST(StoredWeights, RoutersStayUnlessTheMethodTakesEveryMatrix) {
  const std::string mixture = R"("num_local_experts": 4, "num_experts_per_tok": 2, "num_key_value_heads": 8,
    "quantization_config": )";
  const auto converted = [&](const std::string& config) {
    return weights_of(usual("mixtral", mixture + "{" + config + "}")).converted;
  };
  const base::Count layers = 2 * (4 * 64 * 64 + 4 * 3 * 64 * 128), head = 64 * 100;
  EXPECT_EQ(converted(R"("quant_method": "awq", "bits": 4, "modules_to_not_convert": ["gate"])"), layers);
  EXPECT_EQ(converted(R"("quant_method": "fp8")"), layers);
  const std::string every =
      R"("quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
    "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}}, "ignore": )";
  EXPECT_EQ(converted(every + R"(["lm_head", "re:.*gate$"])"), layers);
  EXPECT_EQ(converted(every + "[]"), layers + head + 2 * 64 * 4);
}

// A mixture of 2 layers whose experts have 2 x 4 x 3 x 64 x 128 weights.
std::string mixture(const std::string& config, const std::string& more = "") {
  return usual("mixtral", R"("num_local_experts": 4, "num_experts_per_tok": 2, "num_key_value_heads": 8,
    "quantization_config": {)" +
                              config + "}" + (more.empty() ? "" : ", " + more));
}
constexpr double kExperts = 2 * 4 * 3 * 64 * 128;
constexpr double kExpertMatrices = 2 * 4 * 3;

TEST(StoredWeights, ExpertsMayHaveAWidthOfTheirOwn) {
  const std::string fp8 = R"("quant_method": "fp8")";
  const StoredWeights same = weights_of(mixture(fp8));
  const StoredWeights apart = weights_of(mixture(fp8, R"("expert_dtype": "fp4")"));
  EXPECT_EQ(apart.converted, same.converted);
  EXPECT_EQ(apart.bits, 4);
  EXPECT_DOUBLE_EQ(apart.bytes - apart.scale_bytes, same.bytes - same.scale_bytes - kExperts / 2);
  // One block of 128 x 128 for each matrix; with fp4, a byte for 32 weights.
  EXPECT_DOUBLE_EQ(apart.scale_bytes, same.scale_bytes - kExpertMatrices * 4 + kExperts / 32);
  EXPECT_EQ(warned(mixture(fp8, R"("expert_dtype": "fp4")")), Codes{});
  EXPECT_EQ(weights_of(mixture(fp8, R"("expert_dtype": "fp8")")).bytes, same.bytes);
  EXPECT_EQ(weights_of(mixture(fp8, R"("expert_dtype": null)")).bytes, same.bytes);
  EXPECT_EQ(warned(mixture(fp8, R"("expert_dtype": "fp3")")), Codes{"O0926"});
  EXPECT_EQ(warned(usual("llama", R"("expert_dtype": "fp4")")), Codes{"O0926"});
  // ModelOpt's: 8 bits for 16 weights, and two scales of 32 bits.
  const StoredWeights nv = weights_of(mixture(fp8 + R"(, "moe_quant_algo": "NVFP4")", R"("expert_dtype": "fp4")"));
  EXPECT_DOUBLE_EQ(nv.scale_bytes, same.scale_bytes - kExpertMatrices * 4 + kExperts / 16 + kExpertMatrices * 8);
}

TEST(StoredWeights, OfMixedPrecisionEveryModuleHasItsOwn) {
  const auto mixed = [](const std::string& layers) {
    return mixture(R"("quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {)" + layers +
                   "}");
  };
  const std::string second = R"("model.layers.1.self_attn.q_proj": {"quant_algo": "FP8"})";
  const StoredWeights one = weights_of(mixed(second));
  EXPECT_EQ(one.converted, 64 * 64) << "of the second layer only";
  EXPECT_DOUBLE_EQ(one.scale_bytes, 8);
  const std::string experts = R"("model.layers.0.block_sparse_moe.experts.0.w1": {"quant_algo": "NVFP4"},
    "model.layers.0.block_sparse_moe.experts.1.w1": {"quant_algo": "NVFP4"}, )";
  EXPECT_EQ(weights_of(mixed(experts + second)).converted, 64 * 64 + 4 * 64 * 128);
  EXPECT_EQ(warned(mixed(experts + second)), Codes{});
  EXPECT_EQ(warned(mixed(experts + R"("model.layers.0.block_sparse_moe.experts.3.w1": {"quant_algo": "MXFP8"})")),
            Codes{"O0926"});
  EXPECT_EQ(warned(mixed(R"("model.layers.0.self_attn.qq_proj": {"quant_algo": "FP8"})")), Codes{"O0926"});
}

TEST(StoredWeights, GroupsOfNamedLayersKeepToTheirLayers) {
  const auto group = [](const char* target, int bits) {
    return "{\"targets\": [\"" + std::string(target) + "\"], \"weights\": {\"num_bits\": " + std::to_string(bits) +
           ", \"type\": \"int\", \"strategy\": \"channel\"}}";
  };
  const auto converted = [&](const std::string& groups) {
    return weights_of(quantised(R"("quant_method": "compressed-tensors", "config_groups": {)" + groups +
                                R"(}, "ignore": ["lm_head"])"))
        .converted;
  };
  constexpr double kLayer = kMatrices / 32;
  EXPECT_EQ(converted("\"a\": " + group("model.layers.0", 8)), kLayer);
  EXPECT_EQ(converted("\"a\": " + group("model.layers.31", 8)), kLayer);
  EXPECT_EQ(converted("\"a\": " + group("model.layers.0", 8) + ", \"b\": " + group("Linear", 4)), kMatrices);
}

TEST(StoredWeights, CachesAreAsWideAsTheFileSays) {
  const auto caches = [](const std::string& config) { return weights_of(quantised(config)).caches; };
  const std::string modelopt = R"("quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": )";
  EXPECT_EQ(caches(modelopt + "\"FP8\""), machine::Precision::kFp8);
  EXPECT_EQ(caches(modelopt + "\"NVFP4\""), machine::Precision::kNvfp4);
  EXPECT_EQ(caches(modelopt + "null"), std::nullopt);
  EXPECT_EQ(weights_of(quantised(modelopt + "\"FP6\"")).unknown_caches, "FP6");
  EXPECT_EQ(caches(R"("quant_method": "fp8")"), std::nullopt);
  EXPECT_EQ(caches(R"("quant_method": "compressed-tensors", "config_groups": {}, "kv_cache_scheme":
                      {"num_bits": 8, "type": "float", "strategy": "tensor"})"),
            machine::Precision::kFp8);
  EXPECT_EQ(caches(R"("quant_method": "compressed-tensors", "config_groups": {}, "kv_cache_scheme": null)"),
            std::nullopt);
}

TEST(StoredWeights, WidthsThatAreNotKnownAreNamed) {
  for (const char* unknown : {R"("torch_dtype": "bfloat61")", R"("quantization_config": {"quant_method": "gptq"})",
                              R"("quantization_config": {"quant_method": "torchao", "quant_type": "fancy"})",
                              R"("quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": false})"}) {
    const Codes told = warned(llama_with(unknown));
    EXPECT_NE(std::count(told.begin(), told.end(), "O0926"), 0) << unknown;
  }
  EXPECT_EQ(warned(llama_with(R"("quantization_config": {"quant_method": "new"})")), (Codes{"O0926", "O0917"}));
  EXPECT_EQ(warned(llama_with(R"("quantization_config": {"quant_method": "awq", "bits": 4, "grup_size": 64})")),
            Codes{"O0916"});
  EXPECT_EQ(codes(refused(llama_with(R"("quantization_config": {"quant_method": "gptq", "bits": 99})"), kWarned)),
            Codes{"O0910"});
  EXPECT_EQ(codes(refused(llama_with(R"("quantization_config": {"quant_method": "gptq", "bits": "four"})"), kWarned)),
            Codes{"O0903"});
}

TEST(StoredWeights, ATypeInEitherPlaceCounts) {
  EXPECT_EQ(weights_of(llama_with(R"("dtype": "float32")")).plain_bits, 32);
  EXPECT_EQ(weights_of(llama_with(R"("torch_dtype": "torch.float32")")).plain_bits, 32);
  EXPECT_TRUE(weights_of(llama_with(R"("dtype": "float32")")).stated);
  EXPECT_FALSE(weights_of(llama_with("")).stated);
  const std::string inner =
      R"({"model_type": "llava", "torch_dtype": "float32", "text_config": )" + usual("llama") + "}";
  EXPECT_EQ(weights_of(inner).plain_bits, 32);
}

}  // namespace
}  // namespace orrery::formats::huggingface
