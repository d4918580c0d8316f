#include "orrery/verbs/tune/runnable_layer.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"

namespace orrery::verbs {
namespace {

LayerRequest of(const std::string& model) {
  LayerRequest request;
  request.model = model;
  request.seq = 128;
  return request;
}

// A model of the text of a config.json.
class Config : public ::testing::Test {
 protected:
  LayerRequest written(const std::string& text) { return of(folder_.write("config.json", text)); }
  base::Folder folder_;
};

TEST(RunnableLayer, BertHasNormsBehindTheAdditionsAndGelu) {
  const layer::Shape s = runnable_layer(of("bert-large")).shape;
  EXPECT_EQ(s.width, 1024);
  EXPECT_EQ(s.heads, 16);
  EXPECT_EQ(s.hidden, 4096);
  EXPECT_EQ(s.norms, layer::Place::kPost);
  EXPECT_EQ(s.activation, kernels::Activation::kGelu);
  EXPECT_TRUE(s.centred && s.out_bias && s.network_bias && s.qkv_bias && s.shift);
  EXPECT_FALSE(s.causal || s.gated || s.cross);
  EXPECT_EQ(s.rotary, layer::Rotary::kNone);
  EXPECT_FLOAT_EQ(s.epsilon, 1e-12F);
}

TEST(RunnableLayer, Gpt2HasNormsBeforeAMaskAndGeluByTanh) {
  const layer::Shape s = runnable_layer(of("gpt2-medium")).shape;
  EXPECT_EQ(s.norms, layer::Place::kPre);
  EXPECT_EQ(s.activation, kernels::Activation::kGeluTanh);
  EXPECT_TRUE(s.causal && s.centred);
  EXPECT_EQ(s.rotary, layer::Rotary::kNone);
}

TEST(RunnableLayer, LlamaHasGroupedQueriesAGateRmsNormsAndRotaryPositions) {
  const layer::Shape s = runnable_layer(of("llama3-8b")).shape;
  EXPECT_EQ(s.heads, 32);
  EXPECT_EQ(s.kv_heads(), 8);
  EXPECT_EQ(s.hidden, 14336);
  EXPECT_EQ(s.activation, kernels::Activation::kSilu);
  EXPECT_TRUE(s.gated && s.causal);
  EXPECT_FALSE(s.centred || s.out_bias || s.network_bias || s.qkv_bias || s.shift);
  EXPECT_EQ(s.rotary, layer::Rotary::kHalves);
  EXPECT_EQ(s.rotary_size, 128);
}

TEST_F(Config, BartsDecoderAttendsToItsEncoder) {
  LayerRequest request = written(
      R"({"model_type": "bart", "d_model": 64, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
          "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 128, "vocab_size": 100,
          "max_position_embeddings": 256, "activation_function": "relu"})");
  request.source = 32;
  const layer::Shape decoder = runnable_layer(request).shape;
  EXPECT_TRUE(decoder.cross && decoder.causal);
  EXPECT_EQ(decoder.memory_length, 32);
  EXPECT_EQ(decoder.hidden, 128);
  EXPECT_EQ(decoder.activation, kernels::Activation::kRelu);
  request.stack = "encoder";
  request.source = {};
  const layer::Shape encoder = runnable_layer(request).shape;
  EXPECT_FALSE(encoder.cross || encoder.causal);
  EXPECT_EQ(encoder.hidden, 256);
}

TEST_F(Config, ShareAndBaseOfRotaryPositionsAreTheFiles) {
  const layer::Shape s = runnable_layer(written(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
          "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 256,
          "rope_theta": 500000.0, "rms_norm_eps": 0.001})"))
                             .shape;
  EXPECT_EQ(s.rotary_base, 500000.0);
  EXPECT_EQ(s.rotary_size, 16);
  EXPECT_FLOAT_EQ(s.epsilon, 0.001F);
}

TEST_F(Config, ScaledAnglesAreWarnedOf) {
  const RunnableLayer found = runnable_layer(written(R"({"model_type": "llama", "hidden_size": 64,
      "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100,
      "max_position_embeddings": 256, "rope_scaling": {"type": "yarn", "factor": 4.0}})"));
  bool warned = false;
  for (const base::Diagnostic& each : found.warnings.all()) warned = warned || each.code == "O1524";
  EXPECT_TRUE(warned);
}

// A small Llama and what else its file says.
std::string with(const std::string& more, const std::string& family = "llama") {
  return R"({"model_type": ")" + family + R"(", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
      "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 256)" +
         more + "}";
}

// Notes of the warning that outputs differ.
std::size_t differing(const RunnableLayer& found) {
  std::size_t notes = 0;
  for (const base::Diagnostic& each : found.warnings.all())
    if (each.code == "O1524") notes += each.notes.size();
  return notes;
}

TEST_F(Config, AnglesOfTheUsualKindAreNotWarnedOf) {
  for (const char* more :
       {R"(, "rope_scaling": {"rope_type": "default"})", R"(, "rope_scaling": {"type": "linear", "factor": 1.0})",
        R"(, "rope_scaling": null)", R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5})"})
    EXPECT_EQ(differing(runnable_layer(written(with(more)))), 0U) << more;
  for (const char* more : {R"(, "rope_scaling": {"factor": 8.0})",
                           R"(, "rope_parameters": {"rope_type": "llama3", "factor": 8.0, "rope_theta": 5e5})",
                           R"(, "rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 8.0}})"})
    EXPECT_EQ(differing(runnable_layer(written(with(more)))), 1U) << more;
}

TEST_F(Config, BaseAndShareOfTransformersFiveAreTheFiles) {
  const layer::Shape s = runnable_layer(written(with(
                                            R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5,
                                               "partial_rotary_factor": 0.25})")))
                             .shape;
  EXPECT_EQ(s.rotary_base, 5e5);
  EXPECT_EQ(s.rotary_size, 4);
}

TEST_F(Config, LayersWithoutRotaryPositionsAreRunWithoutThem) {
  LayerRequest request = written(with("", "smollm3"));
  for (const base::Count layer : {1, 2, 3, 4}) {
    request.layer = layer;
    EXPECT_EQ(runnable_layer(request).shape.rotary == layer::Rotary::kNone, layer == 4) << layer;
  }
  request = written(with(R"(, "no_rope_layers": [0, 1, 1, 1])", "smollm3"));
  const RunnableLayer first = runnable_layer(request);
  EXPECT_EQ(first.shape.rotary, layer::Rotary::kNone);
  bool told = false;
  for (const base::Diagnostic& each : first.warnings.all()) told = told || each.code == "O1522";
  EXPECT_TRUE(told);
  request = written(with(R"(, "no_rope_layer_interval": 2)", "smollm3"));
  request.layer = 2;
  EXPECT_EQ(runnable_layer(request).shape.rotary, layer::Rotary::kNone);
}

TEST_F(Config, ScoresHaveTheModelsFactor) {
  EXPECT_EQ(runnable_layer(written(with(""))).shape.score_scale, 0);
  RunnableLayer granite = runnable_layer(written(with(R"(, "attention_multiplier": 0.125)", "granite")));
  EXPECT_FLOAT_EQ(granite.shape.score_scale, 0.125F);
  EXPECT_EQ(differing(granite), 0U);
  granite = runnable_layer(written(with(R"(, "residual_multiplier": 0.22)", "granite")));
  EXPECT_FLOAT_EQ(granite.shape.score_scale, 1);  // of its class, where the file says nothing
  EXPECT_EQ(differing(granite), 1U);
  const std::string gpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 4, "n_head": 4, "vocab_size": 100)";
  EXPECT_FLOAT_EQ(runnable_layer(written(gpt2 + R"(, "scale_attn_weights": false})")).shape.score_scale, 1);
  LayerRequest third = written(gpt2 + R"(, "scale_attn_by_inverse_layer_idx": true})");
  third.layer = 3;
  EXPECT_FLOAT_EQ(runnable_layer(third).shape.score_scale, 0.25F / 3);
  EXPECT_EQ(differing(runnable_layer(written(with(R"(, "clip_qkv": 8.0)")))), 1U);
}

TEST_F(Config, BiasesOfAttentionAndNetworkAreTheModels) {
  const layer::Shape attention = runnable_layer(written(with(R"(, "attention_bias": true)"))).shape;
  EXPECT_TRUE(attention.qkv_bias && attention.out_bias);
  EXPECT_FALSE(attention.network_bias);
  EXPECT_TRUE(layer::Weights(attention).up_bias.empty() && layer::Weights(attention).down_bias.empty());
  EXPECT_EQ(layer::Weights(attention).out_bias.size(), 64U);
  const layer::Shape network = runnable_layer(written(with(R"(, "mlp_bias": true)"))).shape;
  EXPECT_FALSE(network.qkv_bias || network.out_bias);
  EXPECT_EQ(layer::Weights(network).gate_bias.size(), 128U);
  const layer::Shape qwen = runnable_layer(written(with("", "qwen2"))).shape;
  EXPECT_TRUE(qwen.qkv_bias);
  EXPECT_FALSE(qwen.out_bias || qwen.network_bias);
}

TEST(RunnableLayer, WhatWouldRunAsAnotherLayerIsRefused) {
  for (const char* model : {"mixtral-8x7b", "deepseek-v3", "mamba2-2.7b", "gpt-oss-20b", "qwen3-8b"}) {
    const auto errors = base::refused([&] { runnable_layer(of(model)); });
    ASSERT_FALSE(errors.empty()) << model;
    EXPECT_EQ(errors.front().code, "O1520") << model;
  }
}

TEST(RunnableLayer, AllThatDoesNotRunIsNamedAtOnce) {
  const auto errors = base::refused([&] { runnable_layer(of("gpt-oss-20b")); });
  EXPECT_GE(errors.size(), 2U);  // sinks and experts
}

TEST_F(Config, NumbersThatAreNoneAreRefusedAndAShareOfNothingTurnsNothing) {
  const auto llama = [&](const std::string& key) {
    return written(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                       "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 512, )" +
                   key + "}");
  };
  for (const char* const key : {R"("rope_theta": "500000")", R"("rms_norm_eps": -1)"})
    EXPECT_EQ(base::codes_of([&] { runnable_layer(llama(key)); }), (std::vector<std::string>{"O0903"})) << key;
  EXPECT_EQ(runnable_layer(llama(R"("partial_rotary_factor": 0)")).shape.rotary, layer::Rotary::kNone);
  EXPECT_EQ(runnable_layer(llama(R"("rope_theta": null)")).shape.rotary_base, 10000);
}

TEST(RunnableLayer, PlainSizesAreRunEncoders) {
  LayerRequest request;
  request.width = 256;
  request.heads = 4;
  const layer::Shape s = runnable_layer(request).shape;
  EXPECT_EQ(s.hidden, 1024);
  EXPECT_EQ(s.activation, kernels::Activation::kRelu);
  EXPECT_EQ(s.norms, layer::Place::kPost);
  EXPECT_TRUE(s.out_bias && s.network_bias && s.qkv_bias);
}

TEST(RunnableLayer, HeadsThatDoNotDivideAreRefusedWithTheArithmetic) {
  LayerRequest request;
  request.width = 100;
  request.heads = 16;
  const auto errors = base::refused([&] { runnable_layer(request); });
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().code, "O1504");
}

}  // namespace
}  // namespace orrery::verbs
