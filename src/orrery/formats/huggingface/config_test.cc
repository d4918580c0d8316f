#include "orrery/formats/huggingface/huggingface_config.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "orrery/formats/huggingface/config_test_util.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes, base::source;

const std::string kBertBase = R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
  "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "layer_norm_eps": 1e-12, "id2label": {"0": "a", "1": "b"}})";

TEST(HuggingFaceConfig, BertIsRead) {
  const ConfigDocument read = read_config(source(kBertBase));
  EXPECT_EQ(read.transformer.decoder().width, 768);
  EXPECT_EQ(read.transformer.decoder().layers.size(), 12u);
  const workload::Attention& attention = attention_of(read.transformer);
  EXPECT_EQ(attention.heads, 12);
  EXPECT_EQ(attention.kv_heads, 12);
  EXPECT_EQ(attention.width, 64);
  EXPECT_FALSE(attention.causal);
  EXPECT_EQ(feed_forward_of(read.transformer).inner, 3072);
  EXPECT_FALSE(feed_forward_of(read.transformer).gated);
  EXPECT_EQ(read.transformer.decoder().kinds.front().norm.kind, workload::NormKind::kLayer);
  EXPECT_EQ(read.transformer.max_positions, 512) << "the class's";
  EXPECT_TRUE(read.diagnostics.all().empty()) << "other keys of config.json are nobody's mistake";
}

TEST(HuggingFaceConfig, Gpt2sFeedForwardIsFourTimesTheWidthUnlessGiven) {
  const std::string head = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
    "vocab_size": 50257)";
  EXPECT_EQ(feed_forward_of(model_of(head + "}")).inner, 3072);
  EXPECT_EQ(feed_forward_of(model_of(head + R"(, "n_inner": null})")).inner, 3072);
  EXPECT_EQ(feed_forward_of(model_of(head + R"(, "n_inner": 1000})")).inner, 1000);
  EXPECT_EQ(model_of(head + "}").max_positions, 1024);
}

TEST(HuggingFaceConfig, LlamaIsGatedGroupedAndHasItsOwnHeadWidth) {
  const workload::Transformer model = model_of(
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
          "num_key_value_heads": 8, "intermediate_size": 14336, "hidden_act": "silu", "head_dim": 96,
          "vocab_size": 128256})");
  EXPECT_TRUE(feed_forward_of(model).gated);
  EXPECT_EQ(model.decoder().kinds.front().norm.kind, workload::NormKind::kRms);
  EXPECT_EQ(attention_of(model).kv_heads, 8);
  EXPECT_EQ(attention_of(model).width, 96);
  EXPECT_TRUE(attention_of(model).causal);
}

// The families' counts stand in counts_*_test.cc; this finds a type that was listed and is not read.
TEST(HuggingFaceConfig, EveryTypeIsReadFromTheKeysOfItsKind) {
  const std::string sizes = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 256, "vocab_size": 100, "head_dim": 16, "num_heads": 8, "expand": 2, "d_model": 64,
    "num_layers": 2, "d_ff": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "dim": 64, "n_layers": 2,
    "n_heads": 4, "hidden_dim": 256, "ffn_dim": 256, "n_embd": 64, "n_layer": 2, "n_head": 4,
    "attention_heads": 4, "num_experts_per_tok": 2, "num_local_experts": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 12, "v_head_dim": 16, "num_key_value_heads": 4, "num_kv_shared_layers": 0)";
  // What some types need besides.
  const std::map<std::string, std::string> needed = {
      {"mimo_v2_flash", R"(, "swa_num_key_value_heads": 4)"},
      {"bailing_moe", R"(, "moe_intermediate_size": 64, "num_experts": 8)"},
      {"bailing_moe_v2", R"(, "moe_intermediate_size": 64, "num_experts": 8)"},
      {"nemotron-nas", R"(, "block_configs": [{"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.3}},
                                              {"attention": {"no_op": true}, "ffn": {"ffn_mult": 2.6}}])"},
      {"lfm2_moe", R"(, "layer_types": ["conv", "full_attention"])"},
      {"flint", R"(, "layer_types": ["full_attention", "sliding_attention"])"},
      {"nemotron_h", R"(, "hybrid_override_pattern": "M*")"}};
  for (const std::string& type : model_types()) {
    SCOPED_TRACE(type);
    const auto more = needed.find(type);
    const std::string keys = sizes + (more != needed.end() ? more->second : "") + "}";
    // Of several towers, the language model's keys stand inside.
    const bool towers = type == "llava" || type == "mistral3" || type == "qwen2_5_vl";
    const std::string text = towers ? "{\"model_type\": \"" + type + "\", \"text_config\": {" + keys + "}"
                                    : "{\"model_type\": \"" + type + "\", " + keys;
    // What other families have a key for is refused here.
    ReadOptions options;
    for (const base::Diagnostic& other : refused(text, options))
      if (other.code == "O0917") options.ignored.push_back(other.message.substr(1, other.message.find('`', 1) - 1));
    const workload::Transformer model = model_of(text, options);
    EXPECT_EQ(model.decoder().width, 64);
    EXPECT_EQ(model.decoder().layers.size(), type == "longcat_flash" ? 4u : 2u) << "two attentions a layer";
    EXPECT_GT(workload::parameters(model).total, 0);
    EXPECT_GT(workload::forward_flop(model, 16).products, 0);
  }
}

TEST(HuggingFaceConfig, DuplicateKeysWarnHereAndAreErrorsInTheCatalogue) {
  std::string text = kBertBase;
  text.insert(1, "\"hidden_size\": 12, ");
  const ConfigDocument read = read_config(source(text));
  ASSERT_EQ(codes(read.diagnostics.all()), Codes{"O0904"});
  EXPECT_EQ(read.transformer.decoder().width, 768) << "the last one counts";
  EXPECT_EQ(read.diagnostics.all()[0].secondary.size(), 1u);
  EXPECT_EQ(codes(refused(text, {Strictness::kCatalogue})).at(0), "O0904");
}

const std::string kCatalogueEntry =
    R"({"_title": "a", "model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 1, "vocab_size": 9,
  "_source": {"n_embd": "x", "n_layer": "x", "n_head": "x", "vocab_size": "x"}})";

TEST(HuggingFaceConfig, ACatalogueEntryHasATitleAndASourcePerFigure) {
  const ConfigDocument read = read_config(source(kCatalogueEntry), {Strictness::kCatalogue});
  EXPECT_EQ(read.title, "a");
  EXPECT_EQ(read.sources.size(), 4u);
}

TEST(HuggingFaceConfig, UnknownKeysUncitedFiguresAndStrayCitationsAreErrorsInTheCatalogue) {
  std::string text = kCatalogueEntry;
  text.insert(1, "\"n_positons\": 4, ");
  EXPECT_EQ(codes(refused(text, {Strictness::kCatalogue})), (Codes{"O0905", "O0906"}));
  text = kCatalogueEntry;
  text.replace(text.find("\"n_embd\": \"x\""), 8, "\"n_ctx\"");
  EXPECT_EQ(codes(refused(text, {Strictness::kCatalogue})), (Codes{"O0906", "O0906"}));
  text = kCatalogueEntry;
  text.replace(text.find("_title"), 6, "_titel");
  EXPECT_EQ(codes(refused(text, {Strictness::kCatalogue})), (Codes{"O0905", "O0902"}));
}

TEST(HuggingFaceConfig, MixturesHaveExpertsAndNoLatents) {
  const workload::Transformer model = model_of(usual("mixtral", R"("num_local_experts": 8, "num_experts_per_tok": 2)"));
  EXPECT_EQ(experts_of(model).count, 8);
  EXPECT_EQ(experts_of(model).top_k, 2);
  EXPECT_EQ(experts_of(model).expert.inner, 128) << "without a width of their own, the feed-forward network's";
  EXPECT_FALSE(attention_of(model).latent);
  EXPECT_FALSE(experts_of(model).expert.biases);
  EXPECT_FALSE(model.head.tied);
}

TEST(HuggingFaceConfig, OfQwen2TheFirst28LayersHaveNoWindowUnlessSaid) {
  const auto window = [](int layers, const std::string& more) {
    return workload::shortest_reach(
        model_of(R"({"model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 32, "vocab_size": 100,
      "intermediate_size": 256, "use_sliding_window": true, "sliding_window": 1024, "num_hidden_layers": )" +
                 std::to_string(layers) + more + "}"));
  };
  EXPECT_EQ(window(28, ""), std::nullopt);
  EXPECT_EQ(window(29, ""), 1024);
  EXPECT_EQ(window(28, R"(, "max_window_layers": 21)"), 1024);
  EXPECT_EQ(window(32, R"(, "max_window_layers": 32)"), std::nullopt);
}

TEST(HuggingFaceConfig, ALanguageModelInsideOfALargerOneIsReadFromItsTextConfig) {
  const std::string text =
      R"({"model_type": "llava", "text_config": {)" + usual("llama", "\"frobnicate\": 1").substr(1) + R"(,
    "vision_config": {"hidden_size": 768}})";
  EXPECT_EQ(codes(refused(text)), (Codes{"O0916", "O0917"})) << "the tower is not modelled";
  const ConfigDocument read = read_config(source(text), {.ignored = {"vision_config", "frobnicate"}});
  EXPECT_EQ(read.transformer.decoder().width, 64);
  EXPECT_EQ(read.transformer.places.at("hidden").line, 1);
}

TEST(HuggingFaceConfig, DropoutsOfZeroMakeNoMasks) {
  const std::string head = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257)";
  EXPECT_TRUE(model_of(head + "}").dropout);
  EXPECT_TRUE(model_of(head + R"(, "resid_pdrop": 0, "attn_pdrop": 0.1})").dropout);
  EXPECT_FALSE(model_of(head + R"(, "resid_pdrop": 0, "attn_pdrop": 0.0})").dropout);
  EXPECT_FALSE(model_of(llama_with(R"("attention_dropout": 0.1)")).dropout) << "fused attention keeps no masks";
}

TEST(HuggingFaceConfig, GptNeoXRotatesItsPositionsAndUntiesItsLogits) {
  const workload::Transformer model = model_of(usual("gpt_neox", R"("rotary_pct": 0.25)"));
  EXPECT_FALSE(model.decoder().learned_positions);
  EXPECT_FALSE(model.head.tied);
  EXPECT_TRUE(attention_of(model).causal);
}

TEST(HuggingFaceConfig, ATokenThatMayVisitEveryGroupOfExpertsHasNoLimit) {
  const auto groups = [](const char* more) {
    return experts_of(model_of(usual("deepseek_v3", R"("n_routed_experts": 8, "num_experts_per_tok": 2,
      "first_k_dense_replace": 1, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 12, "v_head_dim": 16, )" +
                                                        std::string(more))))
        .max_groups;
  };
  EXPECT_EQ(groups(R"("n_group": 1, "topk_group": 1)"), 0);
  EXPECT_EQ(groups(R"("n_group": 8, "topk_group": 4)"), 4);
}

// As the published Mamba-2 checkpoints have it: Python writes infinity bare.
TEST(HuggingFaceConfig, AnInfinityThatPythonWroteDoesNotMakeAFileUnreadable) {
  const std::string mamba = R"({"model_type": "mamba2", "hidden_size": 128, "num_hidden_layers": 2, "vocab_size": 100,
    "num_heads": 8, "head_dim": 32, "expand": 2, "n_groups": 1)";
  EXPECT_EQ(warnings_of(mamba + R"(, "time_step_limit": [0.0, Infinity]})"), Codes{});
  EXPECT_EQ(codes(refused(mamba + R"(, "state_size": Infinity})")), Codes{"O0903"});
}

}  // namespace
}  // namespace orrery::formats::huggingface
