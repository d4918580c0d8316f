#include "orrery/scenario/runnable_layer.h"

#include <gtest/gtest.h>

#include "orrery/base/files_test_util.h"
#include "orrery/base/refused_test_util.h"

namespace orrery::scenario {
namespace {

LayerRequest of(const std::string& model) {
  LayerRequest request;
  request.model = model;
  request.seq = 128;
  return request;
}

// A model of the text of a config.json.
class Config : public testing::Test {
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
  EXPECT_TRUE(s.centred && s.bias && s.qkv_bias && s.shift);
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
  EXPECT_FALSE(s.centred || s.bias || s.qkv_bias || s.shift);
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

TEST(RunnableLayer, PlainSizesAreRunEncoders) {
  LayerRequest request;
  request.width = 256;
  request.heads = 4;
  const layer::Shape s = runnable_layer(request).shape;
  EXPECT_EQ(s.hidden, 1024);
  EXPECT_EQ(s.activation, kernels::Activation::kRelu);
  EXPECT_EQ(s.norms, layer::Place::kPost);
  EXPECT_TRUE(s.bias && s.qkv_bias);
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
}  // namespace orrery::scenario
