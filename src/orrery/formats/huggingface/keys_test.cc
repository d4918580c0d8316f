#include "orrery/formats/huggingface/keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/formats/huggingface/config_test_util.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes, base::source;

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
       {R"("quantization_config": {"bits": 4})", R"("index_topk": 64)", R"("num_nextn_predict_layers": 1)",
        R"("word_embed_proj_dim": 32)", R"("is_encoder_decoder": true)",
        R"("layer_types": ["full_attention", "linear_attention"])", R"("attention_chunk_size": 8192)",
        R"("num_experts": 8)", R"("index_topk": 2048)", R"("use_qk_norm": true)",
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
  const workload::Transformer model = model_of(R"({"model_type": "roberta", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 514,
    "pad_token_id": 1})");
  EXPECT_EQ(model.max_positions, 512);
  EXPECT_EQ(model.decoder().position_rows, 514);
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
  EXPECT_EQ(warnings_of(llama_with(R"("num_nextn_predict_layers": 1, "word_embed_proj_dim": 32, "load_in_8bit": true)"),
                        {.outside = Outside::kPassed}),
            Codes{});
  EXPECT_THROW(read_config(source(llama_with(R"("index_topk": 64)")), {.outside = Outside::kPassed}), base::InputError);
}

TEST(HuggingFaceKeys, WhoDoesNotKnowWhatWillBeAskedWarnsOfWhatIsAroundBlocks) {
  const ReadOptions warned = {.outside = Outside::kWarned};
  EXPECT_EQ(warnings_of(llama_with(R"("num_nextn_predict_layers": 1, "word_embed_proj_dim": 64)"), warned),
            Codes{"O0917"});
  EXPECT_THROW(read_config(source(llama_with(R"("index_topk": 64)")), warned), base::InputError);
}

// As transformers' configuration classes have it.
TEST(HuggingFaceKeys, AbsentIsWhatTheClassHasAndNullIsNone) {
  const auto read = [](const char* type, const std::string& more) {
    return model_of(base::replaced(usual(type, more), "_heads\": 8", "_heads\": 32"));
  };
  EXPECT_EQ(attention_of(read("mistral", "")).kv_heads, 8);
  EXPECT_EQ(attention_of(read("mistral", "\"num_key_value_heads\": null")).kv_heads, 32);
  EXPECT_EQ(workload::shortest_reach(read("mistral", "")), 4096);
  EXPECT_EQ(workload::shortest_reach(read("mistral", "\"sliding_window\": null")), std::nullopt);
  EXPECT_EQ(workload::shortest_reach(read("qwen2", "\"num_key_value_heads\": 2")), std::nullopt);
  EXPECT_EQ(workload::shortest_reach(read("llama", "")), std::nullopt);
}

TEST(HuggingFaceKeys, SizesOfZeroAreRefused) {
  EXPECT_EQ(codes(refused(usual("mistral", "\"sliding_window\": -1"))), Codes{"O0910"});
  EXPECT_EQ(workload::shortest_reach(model_of(usual("mistral", "\"sliding_window\": 0"))), std::nullopt)
      << "files of models without a window say 0, too";
  std::string text = llama_with("\"hidden_act\": \"silu\"");
  text.replace(text.find("\"vocab_size\": 100"), 17, "\"vocab_size\": 0  ");
  const auto found = refused(text);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].code, "O0910");
}

std::optional<base::Count> window_of(const char* type, const std::string& more) {
  return workload::shortest_reach(model_of(usual(type, more)));
}

TEST(HuggingFaceKeys, AWindowCountsWhereSomeLayerHasIt) {
  EXPECT_EQ(window_of("mistral", R"("sliding_window": 1024)"), 1024);
  EXPECT_EQ(window_of("mistral", R"("sliding_window": null)"), std::nullopt);
  const std::string used = R"("sliding_window": 1024, "num_key_value_heads": 2, "use_sliding_window": )";
  EXPECT_EQ(window_of("qwen3", used + "false"), std::nullopt);
  EXPECT_EQ(window_of("qwen3", R"("sliding_window": 1024, "num_key_value_heads": 2)"), std::nullopt)
      << "Qwen's default is not to use it";
  EXPECT_EQ(window_of("qwen3", used + R"(true, "layer_types": ["full_attention", "full_attention"])"), std::nullopt);
  EXPECT_EQ(window_of("qwen3", used + R"(true, "layer_types": ["full_attention", "sliding_attention"])"), 1024);
  EXPECT_EQ(window_of("qwen3", used + R"(true, "max_window_layers": 2)"), std::nullopt);
  EXPECT_EQ(window_of("mistral", R"("sliding_window": 1024, "max_window_layers": 2)"), 1024)
      << "only Qwen's classes look at `max_window_layers`";
  EXPECT_EQ(
      workload::shortest_reach(model_of(usual("mistral", "\"sliding_window\": 1024"), {.ignored = {"sliding_window"}})),
      std::nullopt);
  EXPECT_EQ(window_of("llama", R"("sliding_window": 1024)"), std::nullopt) << "the class does nothing with it";
}

TEST(HuggingFaceKeys, AWindowThatTheClassDoesNotReadIsNamed) {
  EXPECT_EQ(warnings_of(llama_with(R"("sliding_window": 1024)")), Codes{"O0927"});
  EXPECT_EQ(warnings_of(llama_with(R"("sliding_window": 4096)")), Codes{}) << "as long as the longest sequence";
  EXPECT_EQ(warnings_of(llama_with(R"("sliding_window": null)")), Codes{});
  EXPECT_EQ(warnings_of(llama_with(R"("sliding_window": 1024, "use_sliding_window": false)")), Codes{});
  EXPECT_EQ(warnings_of(llama_with(R"("sliding_window": 1024)"), {.ignored = {"sliding_window"}}), Codes{"O0919"});
  EXPECT_EQ(warnings_of(usual("mistral", R"("layer_types": ["sliding_attention", "full_attention"])")), Codes{"O0927"});
  EXPECT_EQ(warnings_of(usual("mistral", R"("layer_types": ["sliding_attention", "sliding_attention"])")), Codes{});
}

TEST(HuggingFaceKeys, TwoNamesOfOneSizeMustAgree) {
  const std::string eight =
      R"("num_key_value_heads": 8, "num_experts_per_tok": 2, "num_local_experts": 8, "num_experts": )";
  EXPECT_EQ(warnings_of(usual("mixtral", eight + "8")), Codes{});
  EXPECT_EQ(warnings_of(usual("mixtral", eight + "null")), Codes{});
  const auto found = refused(usual("mixtral", eight + "16"));
  ASSERT_EQ(codes(found), Codes{"O0928"});
  EXPECT_NE(found[0].message.find("`num_experts`"), std::string::npos);
}

TEST(HuggingFaceKeys, PositionsThatAreNotSaidAreThoseOfTheClass) {
  const auto positions = [](const std::string& type) {
    return model_of(R"({"model_type": ")" + type + R"(", "hidden_size": 64, "num_hidden_layers": 1,
      "num_attention_heads": 32, "intermediate_size": 64, "vocab_size": 9})")
        .max_positions;
  };
  EXPECT_EQ(positions("llama"), 2048);
  EXPECT_EQ(positions("mistral"), 131072);
  EXPECT_EQ(positions("qwen3"), 32768);
  EXPECT_EQ(positions("olmo2"), 2048);
  EXPECT_EQ(positions("starcoder2"), 4096);
}

}  // namespace
}  // namespace orrery::formats::huggingface
