#include "orrery/formats/huggingface/config.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "orrery/base/damaged_test_util.h"
#include "orrery/base/refused_test_util.h"
#include "orrery/formats/huggingface/families.h"
#include "orrery/formats/huggingface/keys.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes, base::source;

std::vector<base::Diagnostic> refused(const std::string& text, Strictness strictness = Strictness::kForeign) {
  return base::refused([&] { read_config(source(text), {strictness}); });
}

const std::string kBertBase = R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
  "num_attention_heads": 12, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "id2label": {"0": "a", "1": "b"}})";

TEST(HuggingFaceConfig, BertIsRead) {
  const ConfigDocument read = read_config(source(kBertBase));
  EXPECT_EQ(read.config.hidden, 768);
  EXPECT_EQ(read.config.layers, 12);
  EXPECT_EQ(read.config.heads, 12);
  EXPECT_EQ(read.config.kv_heads, 12);
  EXPECT_EQ(read.config.head_dim, 64);
  EXPECT_EQ(read.config.feed_forward, 3072);
  EXPECT_FALSE(read.config.gated);
  EXPECT_FALSE(read.config.rms_norm);
  EXPECT_FALSE(read.config.max_positions.has_value());
  EXPECT_TRUE(read.diagnostics.all().empty()) << "other keys of config.json are nobody's mistake";
}

TEST(HuggingFaceConfig, Gpt2sFeedForwardIsFourTimesTheWidthUnlessGiven) {
  const std::string head = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024)";
  EXPECT_EQ(read_config(source(head + "}")).config.feed_forward, 3072);
  EXPECT_EQ(read_config(source(head + R"(, "n_inner": null})")).config.feed_forward, 3072);
  EXPECT_EQ(read_config(source(head + R"(, "n_inner": 1000})")).config.feed_forward, 1000);
  EXPECT_EQ(read_config(source(head + "}")).config.max_positions, 1024);
}

TEST(HuggingFaceConfig, LlamaIsGatedGroupedAndHasItsOwnHeadWidth) {
  const ConfigDocument read = read_config(source(
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
          "num_key_value_heads": 8, "intermediate_size": 14336, "hidden_act": "silu", "head_dim": 96})"));
  EXPECT_TRUE(read.config.gated);
  EXPECT_TRUE(read.config.rms_norm);
  EXPECT_EQ(read.config.kv_heads, 8);
  EXPECT_EQ(read.config.head_dim, 96);
}

TEST(HuggingFaceConfig, EveryFamilyIsReadFromItsOwnKeys) {
  for (const std::string& type : model_types()) {
    const std::string text = "{\"model_type\": \"" + type + R"(", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 256, "ffn_dim": 256, "dim": 64, "n_layers": 2, "n_heads": 4,
      "hidden_dim": 256, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 256, "head_dim": 16, "num_local_experts": 8,
      "num_experts_per_tok": 2, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 12,
      "v_head_dim": 16, "num_key_value_heads": 4})";
    // What other families have a key for would be refused here.
    ReadOptions options;
    const std::vector<std::string_view> own = keys_read(*find_family(type));
    for (const char* key : {"num_local_experts", "kv_lora_rank", "num_key_value_heads"})
      if (std::find(own.begin(), own.end(), key) == own.end()) options.ignored.emplace_back(key);
    const ConfigDocument read = read_config(source(text), options);
    EXPECT_EQ(read.config.family, type);
    EXPECT_EQ(read.config.hidden, 64) << type;
    EXPECT_EQ(read.config.layers, 2) << type;
    EXPECT_EQ(read.config.head_dim, 16) << type;
    EXPECT_EQ(read.config.feed_forward, 256) << type;
  }
}

TEST(HuggingFaceConfig, SyntaxErrorsPointAtTheCharacter) {
  const auto found = refused("{\n  \"model_type\": \"bert\",\n  \"hidden_size\": ,\n}");
  ASSERT_EQ(codes(found), Codes{"O0900"});
  EXPECT_EQ(found[0].primary.where.line, 3);
  EXPECT_EQ(found[0].primary.where.column, 18);
}

TEST(HuggingFaceConfig, NumbersBeyondAnyDoubleAreSyntaxErrorsAtTheNumber) {
  const auto found = refused("{\n  \"model_type\": \"bert\",\n  \"hidden_size\": 687e999\n}");
  ASSERT_EQ(codes(found), Codes{"O0900"});
  EXPECT_EQ(found[0].primary.where.line, 3);
  EXPECT_EQ(found[0].primary.where.column, 18);
  EXPECT_EQ(found[0].message, "the number 687e999 is larger than any that JSON can carry");
}

TEST(HuggingFaceConfig, SomethingElseThanAnObjectIsRefused) {
  for (const char* text : {"", "   ", "[]", "3", "null", "\"bert\""})
    EXPECT_EQ(codes(refused(text)), Codes{"O0900"}) << text;
}

TEST(HuggingFaceConfig, UnknownModelTypesAreListedWithTheNearest) {
  const auto found = refused("{\n  \"model_type\": \"lama\"}");
  ASSERT_EQ(codes(found), Codes{"O0901"});
  EXPECT_EQ(found[0].primary.where.line, 2);
  EXPECT_EQ(found[0].primary.where.column, 17);
  EXPECT_EQ(found[0].primary.where.length, 6);
  ASSERT_EQ(found[0].hints.size(), 1u);
  EXPECT_EQ(found[0].hints[0], "did you mean `llama`?");
  EXPECT_NE(found[0].notes.at(0).find("gpt2"), std::string::npos);
}

TEST(HuggingFaceConfig, AMissingModelTypeIsGuessedFromTheKeys) {
  const auto found = refused(R"({"n_embd": 768})");
  ASSERT_EQ(codes(found), Codes{"O0902"});
  EXPECT_NE(found[0].hints.at(0).find("gpt2"), std::string::npos);
}

TEST(HuggingFaceConfig, AllMissingKeysAreNamedAtOnce) {
  const auto found = refused(R"({"model_type": "bert", "hidden_sise": 768, "num_attention_heads": 12})");
  ASSERT_EQ(codes(found), Codes{"O0902"});
  for (const char* key : {"`hidden_size`", "`num_hidden_layers`", "`intermediate_size`"})
    EXPECT_NE(found[0].message.find(key), std::string::npos) << key;
  ASSERT_FALSE(found[0].hints.empty());
  EXPECT_NE(found[0].hints[0].find("hidden_sise"), std::string::npos);
}

TEST(HuggingFaceConfig, WrongTypesAreAllReportedWhereTheyStand) {
  const auto found = refused(R"({"model_type": "bert",
  "hidden_size": "768",
  "num_hidden_layers": 12.5,
  "num_attention_heads": true,
  "intermediate_size": [3072],
  "vocab_size": 18446744073709551615,
  "max_position_embeddings": 1e300})");
  ASSERT_EQ(codes(found), (Codes(6, "O0903")));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(found[i].primary.where.line, i + 2);
  EXPECT_EQ(found[0].primary.where.column, 18);
  EXPECT_EQ(found[0].primary.where.length, 5);
}

TEST(HuggingFaceConfig, ValuesThatCannotBePointAtTheirLine) {
  const auto found = refused(
      "{\"model_type\": \"bert\", \"hidden_size\": 768, \"num_hidden_layers\": 12,\n"
      "  \"num_attention_heads\": 10, \"intermediate_size\": -1}");
  ASSERT_EQ(codes(found), (Codes{"O0910", "O0911"}));
  EXPECT_EQ(found[0].primary.where.line, 2);
  EXPECT_EQ(found[1].primary.where.line, 2);
  EXPECT_EQ(found[1].primary.where.column, 26);
}

TEST(HuggingFaceConfig, AStatedZeroIsNotTheDefault) {
  EXPECT_EQ(codes(refused(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 64, "num_key_value_heads": 0})")),
            Codes{"O0910"});
}

TEST(HuggingFaceConfig, FourTimesAHugeWidthIsRefusedNotWrapped) {
  EXPECT_EQ(codes(refused(R"({"model_type": "gpt2", "n_embd": 4611686018427387904, "n_layer": 1, "n_head": 1})")),
            Codes{"O0914"});
}

TEST(HuggingFaceConfig, DuplicateKeysWarnHereAndAreErrorsInTheCatalogue) {
  std::string text = kBertBase;
  text.insert(1, "\"hidden_size\": 12, ");
  const ConfigDocument read = read_config(source(text));
  ASSERT_EQ(codes(read.diagnostics.all()), Codes{"O0904"});
  EXPECT_EQ(read.config.hidden, 768) << "the last one counts";
  EXPECT_EQ(read.diagnostics.all()[0].secondary.size(), 1u);
  EXPECT_EQ(codes(refused(text, Strictness::kCatalogue)).at(0), "O0904");
}

const std::string kEntry = R"({"_title": "a", "model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 1,
  "_source": {"n_embd": "x", "n_layer": "x", "n_head": "x"}})";

TEST(HuggingFaceConfig, ACatalogueEntryHasATitleAndASourcePerFigure) {
  const ConfigDocument read = read_config(source(kEntry), {Strictness::kCatalogue});
  EXPECT_EQ(read.title, "a");
  EXPECT_EQ(read.sources.size(), 3u);
}

TEST(HuggingFaceConfig, UnknownKeysUncitedFiguresAndStrayCitationsAreErrorsInTheCatalogue) {
  std::string text = kEntry;
  text.insert(1, "\"n_positons\": 4, ");
  EXPECT_EQ(codes(refused(text, Strictness::kCatalogue)), (Codes{"O0905", "O0906"}));
  text = kEntry;
  text.replace(text.find("\"n_embd\": \"x\""), 8, "\"n_ctx\"");
  EXPECT_EQ(codes(refused(text, Strictness::kCatalogue)), (Codes{"O0906", "O0906"}));
  text = kEntry;
  text.replace(text.find("_title"), 6, "_titel");
  EXPECT_EQ(codes(refused(text, Strictness::kCatalogue)), (Codes{"O0905", "O0902"}));
}

TEST(HuggingFaceConfig, DamagedFilesAreRefusedOrReadButNeverCrash) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = base::damaged(kEntry, "{}[]\",:0\\-n\n");
    refused(text);
    refused(text, Strictness::kCatalogue);
  }));
}

TEST(HuggingFaceConfig, MixturesHaveExpertsAndTheRestOfTheFamilyHasNone) {
  const ConfigDocument mixtral = read_config(source(
      R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
          "intermediate_size": 224, "num_local_experts": 8, "num_experts_per_tok": 2})"));
  ASSERT_TRUE(mixtral.config.experts);
  EXPECT_EQ(mixtral.config.experts->count, 8);
  EXPECT_EQ(mixtral.config.experts->top_k, 2);
  EXPECT_EQ(mixtral.config.experts->feed_forward, 224) << "without a width of their own, the feed-forward network's";
  EXPECT_FALSE(mixtral.config.latent);
  EXPECT_FALSE(mixtral.config.biases);
  EXPECT_FALSE(mixtral.config.tied_embedding);
}

TEST(HuggingFaceConfig, AMixtureWithTooFewExpertsForATokenIsRefused) {
  const auto found = refused(
      R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
          "intermediate_size": 224, "num_local_experts": 8, "num_experts_per_tok": 9})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "O0907");
}

const std::string kLlama = R"("model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
  "num_attention_heads": 8, "intermediate_size": 128, "max_position_embeddings": 4096, "vocab_size": 100)";

std::string llama_with(const std::string& more) {
  return "{" + kLlama + ", " + more + "}";
}

Codes warnings_of(const std::string& text, const ReadOptions& options = {}) {
  return codes(read_config(source(text), options).diagnostics.all());
}

TEST(HuggingFaceKeys, NoKeyStandsInTwoTables) {
  std::vector<std::string_view> seen;
  for (const HarmlessKeys& group : harmless_keys()) {
    EXPECT_FALSE(group.why.empty());
    seen.insert(seen.end(), group.keys.begin(), group.keys.end());
  }
  for (const CostlyKey& key : costly_keys()) seen.push_back(key.key);
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  EXPECT_TRUE(twice == seen.end()) << *twice;
}

TEST(HuggingFaceKeys, ActiveKeysOfCostAreRefusedAndInactiveOnesPass) {
  for (const char* active :
       {R"("quantization_config": {"bits": 4})", R"("num_nextn_predict_layers": 1)", R"("word_embed_proj_dim": 32)",
        R"("is_encoder_decoder": true)", R"("layer_types": ["full_attention", "linear_attention"])",
        R"("attention_chunk_size": 8192)", R"("num_experts": 8)", R"("index_topk": 2048)", R"("use_qk_norm": true)",
        R"("position_embedding_type": "relative_key")", R"("layerdrop": 0.1)", R"("mlp_only_layers": [0])",
        R"("vision_config": {"depth": 3})"})
    EXPECT_EQ(codes(refused(llama_with(active))), Codes{"O0917"}) << active;
  for (const char* inactive :
       {R"("quantization_config": null)", R"("num_nextn_predict_layers": 0)", R"("word_embed_proj_dim": 64)",
        R"("is_encoder_decoder": false)", R"("layer_types": ["full_attention", "full_attention"])",
        R"("attention_chunk_size": null)", R"("num_experts": 0)", R"("use_qk_norm": false)",
        R"("position_embedding_type": "absolute")", R"("layerdrop": 0.0)", R"("mlp_only_layers": [])",
        R"("decoder_sparse_step": 1)", R"("pruned_heads": {})", R"("rope_scaling": {"factor": 8})",
        R"("torch_dtype": "bfloat16")", R"("temperature": 0.6, "top_p": 0.9, "use_cache": true)"})
    EXPECT_EQ(warnings_of(llama_with(inactive)), Codes{}) << inactive;
}

TEST(HuggingFaceKeys, EveryKeyThatNobodyKnowsIsNamedWithItsNearest) {
  const auto found = read_config(source(llama_with(R"("num_key_value_head": 2)"))).diagnostics.all();
  ASSERT_EQ(codes(found), Codes{"O0916"});
  EXPECT_EQ(found[0].hints.at(0), "did you mean `num_key_value_heads`?");
  EXPECT_EQ(found[0].primary.where.line, 2);
  EXPECT_EQ(warnings_of(llama_with(R"("frobnicate": 1)")), Codes{"O0916"});
}

TEST(HuggingFaceKeys, AKeyThatIsThereIsNeverSuggested) {
  const auto found =
      read_config(source(llama_with(R"("num_key_value_heads": 2, "num_key_value_head": 2)"))).diagnostics.all();
  ASSERT_EQ(codes(found), Codes{"O0916"});
  EXPECT_EQ(found[0].hints.at(0).find("num_key_value_heads"), std::string::npos);
  EXPECT_EQ(warnings_of(llama_with(R"("activation_dropout": 0.0)")), Codes{});
}

TEST(HuggingFaceKeys, GroupedQueriesUnderAnotherNameAreNotToBeIgnored) {
  for (const char* key : {R"("num_kv_heads": 2)", R"("multi_query": true)"}) {
    const auto errors = base::refused([&] { read_config(source(llama_with(key))); });
    ASSERT_EQ(codes(errors), Codes{"O0917"}) << key;
    EXPECT_EQ(errors[0].hints.at(0).find("--ignore"), std::string::npos) << key;
    EXPECT_NE(errors[0].hints.at(0).find("num_key_value_heads"), std::string::npos) << key;
  }
}

TEST(HuggingFaceKeys, RobertasLongestSequenceLeavesTheRowsBelowItsPadding) {
  const auto config = read_config(source(R"({"model_type": "roberta", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 514,
    "pad_token_id": 1})"))
                          .config;
  EXPECT_EQ(config.max_positions, 512);
  EXPECT_EQ(config.position_rows, 514);
}

TEST(HuggingFaceKeys, IgnoredKeysAreNamedAndReadKeysCannotBeIgnored) {
  const std::string quantised = llama_with(R"("quantization_config": {"bits": 4}, "frobnicate": 1)");
  EXPECT_EQ(warnings_of(quantised, {.ignored = {"quantization_config", "frobnicate"}}), (Codes{"O0919", "O0919"}));
  EXPECT_EQ(warnings_of(llama_with(R"("use_cache": true)"), {.ignored = {"use_cach"}}), Codes{"O0919"});
  EXPECT_EQ(
      base::codes_of([&] { read_config(source(llama_with(R"("use_cache": true)")), {.ignored = {"hidden_size"}}); }),
      Codes{"O0920"})
      << "a size cannot be ignored";
}

TEST(HuggingFaceKeys, OfABlockAloneWhatIsAroundItPasses) {
  EXPECT_EQ(warnings_of(llama_with(R"("num_nextn_predict_layers": 1, "word_embed_proj_dim": 32)"),
                        {.outside = Outside::kPassed}),
            Codes{});
  EXPECT_THROW(read_config(source(llama_with(R"("quantization_config": {})")), {.outside = Outside::kPassed}),
               base::InputError);
}

TEST(HuggingFaceKeys, WhoDoesNotKnowWhatWillBeAskedWarnsOfWhatIsAroundBlocks) {
  const ReadOptions warned = {.outside = Outside::kWarned};
  EXPECT_EQ(warnings_of(llama_with(R"("num_nextn_predict_layers": 1, "word_embed_proj_dim": 64)"), warned),
            Codes{"O0917"});
  EXPECT_THROW(read_config(source(llama_with(R"("quantization_config": {})")), warned), base::InputError);
}

TEST(HuggingFaceConfig, NamesListsAndProbabilitiesOfAWrongTypeAreErrorsWhereTheyStand) {
  for (const char* wrong : {R"("hidden_act": 3)", R"("torch_dtype": true)", R"("architectures": "LlamaForCausalLM")",
                            R"("architectures": [3])", R"("layer_types": "full_attention")",
                            R"("layer_types": ["full_attention", 1])", R"("attention_dropout": "0.1")",
                            R"("attention_dropout": 1.5)", R"("_name_or_path": ["a"])", R"("pad_token_id": "<pad>")"}) {
    const std::vector<base::Diagnostic> found = refused(llama_with(wrong));
    EXPECT_EQ(codes(found), Codes{"O0903"}) << wrong;
    ASSERT_FALSE(found.empty());
    EXPECT_GT(found[0].primary.where.column, 1) << wrong;
  }
  for (const char* right : {R"("hidden_act": null)", R"("torch_dtype": "bfloat16")", R"("architectures": null)",
                            R"("layer_types": null)", R"("attention_dropout": 0)", R"("pad_token_id": -1)"})
    EXPECT_EQ(codes(refused(llama_with(right))), Codes{}) << right;
}

TEST(HuggingFaceConfig, LayersThatAreToldOfAreAsManyAsThereAre) {
  const std::string one = R"("layer_types": ["full_attention"])";
  EXPECT_EQ(codes(refused(llama_with(one))), Codes{"O0922"});
  EXPECT_EQ(codes(refused(llama_with(R"("layer_types": ["full_attention", "full_attention"])"))), Codes{});
  EXPECT_NO_THROW(read_config(source(llama_with(one)), {.ignored = {"layer_types"}}));
  const auto mixture = [](int dense) {
    return refused(R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
      "intermediate_size": 256, "num_local_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": )" +
                   std::to_string(dense) + "}");
  };
  EXPECT_EQ(codes(mixture(2)), Codes{});
  EXPECT_EQ(codes(mixture(3)), Codes{"O0922"});
}

TEST(HuggingFaceConfig, NullOrMistypedExpertsAreReportedOnce) {
  const auto mixture = [](const char* count, const char* visited) {
    return codes(
        refused(R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
      "intermediate_size": 256, "num_local_experts": )" +
                std::string(count) + ", \"num_experts_per_tok\": " + visited + "}"));
  };
  EXPECT_EQ(mixture("8", "null"), Codes{"O0902"});
  EXPECT_EQ(mixture("null", "2"), Codes{"O0902"});
  EXPECT_EQ(mixture("8", "\"2\""), Codes{"O0903"});
  EXPECT_EQ(mixture("8", "0"), Codes{"O0910"});
}

TEST(HuggingFaceConfig, OfQwen2TheFirst28LayersHaveNoWindowUnlessSaid) {
  const auto window = [](int layers, const std::string& more) {
    return read_config(
               source(R"({"model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 32, "vocab_size": 100,
      "intermediate_size": 256, "use_sliding_window": true, "sliding_window": 1024, "num_hidden_layers": )" +
                      std::to_string(layers) + more + "}"))
        .config.window;
  };
  EXPECT_EQ(window(28, ""), std::nullopt);
  EXPECT_EQ(window(29, ""), 1024);
  EXPECT_EQ(window(28, R"(, "max_window_layers": 21)"), 1024);
  EXPECT_EQ(window(32, R"(, "max_window_layers": 32)"), std::nullopt);
}

// As transformers' configuration classes have it.
TEST(HuggingFaceKeys, AbsentIsWhatTheClassHasAndNullIsNone) {
  const auto read = [](const char* type, const std::string& more) {
    std::string text = llama_with("\"hidden_act\": \"silu\"" + more);
    text.replace(text.find("llama"), 5, type);
    text.replace(text.find("_heads\": 8"), 10, "_heads\": 32");
    return read_config(source(text)).config;
  };
  EXPECT_EQ(read("mistral", "").kv_heads, 8);
  EXPECT_EQ(read("mistral", ", \"num_key_value_heads\": null").kv_heads, 32);
  EXPECT_EQ(read("mistral", "").window, 4096);
  EXPECT_EQ(read("mistral", ", \"sliding_window\": null").window, std::nullopt);
  EXPECT_EQ(read("qwen2", ", \"num_key_value_heads\": 2").window, std::nullopt);
  EXPECT_EQ(read("llama", "").window, std::nullopt);
}

TEST(HuggingFaceKeys, SizesOfZeroAreRefused) {
  for (const char* key : {"\"sliding_window\": 0", "\"sliding_window\": -1"}) {
    const auto found = refused(llama_with(key));
    ASSERT_FALSE(found.empty()) << key;
    EXPECT_TRUE(found[0].code == "O0910" || found[0].code == "O0903") << key << found[0].code;
  }
  std::string text = llama_with("\"hidden_act\": \"silu\"");
  text.replace(text.find("\"vocab_size\": 100"), 17, "\"vocab_size\": 0  ");
  const auto found = refused(text);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].code, "O0910");
}

std::optional<base::Count> window_of(const std::string& more, const ReadOptions& options = {}) {
  return read_config(source(llama_with(more)), options).config.window;
}

TEST(HuggingFaceKeys, AWindowCountsWhereSomeLayerHasIt) {
  EXPECT_EQ(window_of(R"("sliding_window": 1024)"), 1024);
  EXPECT_EQ(window_of(R"("sliding_window": null)"), std::nullopt);
  EXPECT_EQ(window_of(R"("sliding_window": 1024, "use_sliding_window": false)"), std::nullopt);
  EXPECT_EQ(window_of(R"("sliding_window": 1024, "layer_types": ["full_attention", "full_attention"])"), std::nullopt);
  EXPECT_EQ(window_of(R"("sliding_window": 1024, "layer_types": ["full_attention", "sliding_attention"])"), 1024);
  EXPECT_EQ(window_of(R"("sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 2)"), 1024)
      << "only Qwen2's class looks at `max_window_layers`";
  EXPECT_EQ(window_of(R"("sliding_window": 1024)", {.ignored = {"sliding_window"}}), std::nullopt);
  std::string qwen = llama_with(R"("sliding_window": 1024, "num_key_value_heads": 2)");
  qwen.replace(qwen.find("llama"), 5, "qwen2");
  EXPECT_EQ(read_config(source(qwen)).config.window, std::nullopt) << "Qwen2's default is not to use it";
}

TEST(HuggingFaceKeys, AWindowIsRefusedForLongerSequencesOnly) {
  const workload::TransformerConfig config = read_config(source(llama_with(R"("sliding_window": 1024)"))).config;
  EXPECT_NO_THROW(workload::transformer_block(config, 1, 1024));
  EXPECT_THROW(workload::transformer_block(config, 1, 1025), base::InputError);
}

TEST(HuggingFaceConfig, ALanguageModelInsideOfALargerOneIsReadFromItsTextConfig) {
  const std::string text = R"({"model_type": "llava", "text_config": {)" + kLlama + R"(, "frobnicate": 1},
    "vision_config": {"hidden_size": 1024}})";
  EXPECT_EQ(codes(refused(text)), (Codes{"O0916", "O0917"})) << "the tower is not modelled";
  const ConfigDocument read = read_config(source(text), {.ignored = {"vision_config", "frobnicate"}});
  EXPECT_EQ(read.config.hidden, 64);
  EXPECT_EQ(read.config.places.at("hidden").line, 1);
}

TEST(HuggingFaceConfig, DropoutsOfZeroMakeNoMasks) {
  const std::string head = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12)";
  EXPECT_TRUE(read_config(source(head + "}")).config.dropout);
  EXPECT_TRUE(read_config(source(head + R"(, "resid_pdrop": 0, "attn_pdrop": 0.1})")).config.dropout);
  EXPECT_FALSE(read_config(source(head + R"(, "resid_pdrop": 0, "attn_pdrop": 0.0})")).config.dropout);
  EXPECT_FALSE(read_config(source(llama_with(R"("attention_dropout": 0.1)"))).config.dropout)
      << "fused attention keeps no masks";
}

TEST(HuggingFaceConfig, GptNeoXRotatesItsPositionsAndUntiesItsLogits) {
  const workload::TransformerConfig config =
      read_config(source(
                      R"({"model_type": "gpt_neox", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
          "intermediate_size": 256, "vocab_size": 100, "max_position_embeddings": 2048, "rotary_pct": 0.25})"))
          .config;
  EXPECT_FALSE(config.learned_positions);
  EXPECT_FALSE(config.tied_embedding);
  EXPECT_TRUE(config.causal);
}

TEST(HuggingFaceConfig, ATokenThatMayVisitEveryGroupOfExpertsHasNoLimit) {
  const std::string head =
      R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 256, "n_routed_experts": 8, "num_experts_per_tok": 2, "kv_lora_rank": 8,
          "qk_rope_head_dim": 4, "qk_nope_head_dim": 12, "v_head_dim": 16)";
  EXPECT_EQ(read_config(source(head + R"(, "n_group": 1, "topk_group": 1})")).config.experts->max_nodes, 0);
  EXPECT_EQ(read_config(source(head + R"(, "n_group": 8, "topk_group": 4})")).config.experts->max_nodes, 4);
}

TEST(CatalogueModels, DeepSeekV3HasItsExpertsAndItsLatents) {
  std::stringstream text;
  text << std::ifstream(std::string(ORRERY_SOURCE_DIR) + "/catalog/models/deepseek-v3.json").rdbuf();
  const workload::TransformerConfig config = read_config(source(text.str()), {Strictness::kCatalogue}).config;
  ASSERT_TRUE(config.experts && config.latent);
  EXPECT_EQ(config.experts->count, 256);
  EXPECT_EQ(config.experts->top_k, 8);
  EXPECT_EQ(config.experts->feed_forward, 2048);
  EXPECT_EQ(config.experts->shared, 1);
  EXPECT_EQ(config.experts->dense_layers, 3);
  EXPECT_EQ(config.latent->q_rank, 1536);
  EXPECT_EQ(config.latent->kv_rank, 512);
  EXPECT_EQ(config.head_dim, 192) << "of queries and keys: with and without position";
  EXPECT_EQ(config.training_sequence, 4096);
}

struct Published {
  const char* name;
  base::Count hidden, layers, heads, kv_heads, head_dim, feed_forward;
  double parameters;  // of the blocks' matrices
};

TEST(CatalogueModels, EachEntryIsStrictAndHasItsPublishedSize) {
  const std::vector<Published> published = {
      {"bert-base", 768, 12, 12, 12, 64, 3072, 85e6},
      {"bert-large", 1024, 24, 16, 16, 64, 4096, 302e6},
      {"gpt2-small", 768, 12, 12, 12, 64, 3072, 85e6},
      {"gpt2-medium", 1024, 24, 16, 16, 64, 4096, 302e6},
      {"gpt2-large", 1280, 36, 20, 20, 64, 5120, 708e6},
      {"gpt2-xl", 1600, 48, 25, 25, 64, 6400, 1.475e9},
      {"gpt3-6.7b", 4096, 32, 32, 32, 128, 16384, 6.44e9},
      {"gpt3-175b", 12288, 96, 96, 96, 128, 49152, 174e9},
      {"llama3-8b", 4096, 32, 32, 8, 128, 14336, 6.98e9},
      {"llama3-70b", 8192, 80, 64, 8, 128, 28672, 68.5e9},
      {"llama3-405b", 16384, 126, 128, 8, 128, 53248, 401.6e9},
      {"megatron-1.7b", 2304, 24, 24, 24, 96, 9216, 1.529e9},
      {"megatron-3.6b", 3072, 30, 32, 32, 96, 12288, 3.397e9},
      {"megatron-7.5b", 4096, 36, 32, 32, 128, 16384, 7.248e9},
      {"megatron-18.4b", 6144, 40, 48, 48, 128, 24576, 18.12e9},
      {"megatron-39.1b", 8192, 48, 64, 64, 128, 32768, 38.65e9},
      {"megatron-76.1b", 10240, 60, 80, 80, 128, 40960, 75.5e9},
      {"megatron-145.6b", 12288, 80, 96, 96, 128, 49152, 145e9},
      {"megatron-310.1b", 16384, 96, 128, 128, 128, 65536, 309.2e9},
      {"megatron-529.6b", 20480, 105, 128, 128, 160, 81920, 528.5e9},
      {"megatron-1t", 25600, 128, 160, 160, 160, 102400, 1007e9},
      {"mt-nlg-530b", 20480, 105, 128, 128, 160, 81920, 528.5e9},
      {"nemotron4-15b", 6144, 32, 48, 8, 128, 24576, 12.5e9},
      {"nemotron4-340b", 18432, 96, 96, 8, 192, 73728, 331.6e9},
  };
  const std::filesystem::path directory = std::filesystem::path(ORRERY_SOURCE_DIR) / "catalog/models";
  for (const Published& model : published) {
    SCOPED_TRACE(model.name);
    std::stringstream text;
    text << std::ifstream(directory / (std::string(model.name) + ".json")).rdbuf();
    const ConfigDocument read = read_config(source(text.str(), model.name), {Strictness::kCatalogue});
    const workload::TransformerConfig& c = read.config;
    EXPECT_EQ(c.name, model.name);
    EXPECT_EQ(c.hidden, model.hidden);
    EXPECT_EQ(c.layers, model.layers);
    EXPECT_EQ(c.heads, model.heads);
    EXPECT_EQ(c.kv_heads, model.kv_heads);
    EXPECT_EQ(c.head_dim, model.head_dim);
    EXPECT_EQ(c.feed_forward, model.feed_forward);
    const base::Count per_block = c.hidden * (c.heads + 2 * c.kv_heads) * c.head_dim + c.hidden * c.heads * c.head_dim +
                                  (c.gated ? 3 : 2) * c.hidden * c.feed_forward;
    EXPECT_NEAR(static_cast<double>(c.layers * per_block), model.parameters, 0.005 * model.parameters);
  }
  const auto entries = std::distance(std::filesystem::directory_iterator(directory), {});
  const std::size_t mixtures = 2;  // whose blocks are of several kinds
  EXPECT_EQ(static_cast<std::size_t>(entries), published.size() + mixtures) << "an entry this test does not know";
}

}  // namespace
}  // namespace orrery::formats::huggingface
