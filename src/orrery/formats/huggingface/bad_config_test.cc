// What is wrong with a file is said where it stands, all at once.
#include "orrery/formats/huggingface/huggingface_config.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "orrery/base/text/damaged_test_util.h"
#include "orrery/formats/huggingface/config_test_util.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes, base::source;

const std::string kEntry =
    R"({"_title": "a", "model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 1, "vocab_size": 9,
  "_source": {"n_embd": "x", "n_layer": "x", "n_head": "x", "vocab_size": "x"}})";

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
  "max_position_embeddings": 1e300,
  "vocab_size": 18446744073709551615})");
  ASSERT_EQ(codes(found), (Codes{"O0903", "O0903", "O0903", "O0903", "O0903", "O0910"}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(found[i].primary.where.line, i + 2);
  EXPECT_EQ(found[0].primary.where.column, 18);
  EXPECT_EQ(found[0].primary.where.length, 5);
}

TEST(HuggingFaceConfig, ValuesThatCannotBePointAtTheirLine) {
  const auto found = refused(
      "{\"model_type\": \"bert\", \"hidden_size\": 768, \"num_hidden_layers\": 12,\n"
      "  \"num_attention_heads\": 10, \"intermediate_size\": -1, \"vocab_size\": 9}");
  ASSERT_EQ(codes(found), (Codes{"O0911", "O0910"}));
  EXPECT_EQ(found[0].primary.where.line, 2);
  EXPECT_EQ(found[0].primary.where.column, 26);
  EXPECT_EQ(found[1].primary.where.line, 2);
}

TEST(HuggingFaceConfig, AStatedZeroIsNotTheDefault) {
  EXPECT_EQ(codes(refused(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 9, "num_key_value_heads": 0})")),
            Codes{"O0910"});
}

TEST(HuggingFaceConfig, SizesLargerThanAnyModelsAreRefusedNotWrapped) {
  for (const char* width : {"1000000001", "4611686018427387904", "9223372036854775808", "100000000000000000000000"}) {
    const auto found = refused(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "vocab_size": 9, "n_embd": )" +
                               std::string(width) + "}");
    ASSERT_EQ(codes(found), Codes{"O0910"}) << width;
    EXPECT_EQ(found[0].primary.where.column, 78) << width;
  }
}

TEST(HuggingFaceConfig, DamagedFilesAreRefusedOrReadButNeverCrash) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = base::damaged(kEntry, "{}[]\",:0\\-n\n");
    refused(text);
    refused(text, {Strictness::kCatalogue});
    refused(base::damaged(usual("llama"), "{}[]\",:0\\-n\n"), {.like = *rc::gen::elementOf(model_types())});
  }));
}

TEST(HuggingFaceConfig, AMixtureWithTooFewExpertsForATokenIsRefused) {
  const auto found = refused(usual("mixtral", R"("num_local_experts": 8, "num_experts_per_tok": 9)"));
  ASSERT_EQ(codes(found), Codes{"O0907"});
  EXPECT_EQ(found[0].primary.where.line, 2);
}

TEST(HuggingFaceConfig, NamesListsAndProbabilitiesOfAWrongTypeAreErrorsWhereTheyStand) {
  for (const char* wrong : {R"("hidden_act": 3)", R"("torch_dtype": true)", R"("architectures": "LlamaForCausalLM")",
                            R"("architectures": [3])", R"("attention_dropout": "0.1")", R"("attention_dropout": 1.5)",
                            R"("_name_or_path": ["a"])", R"("pad_token_id": "<pad>")"}) {
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
  const auto told = [](const std::string& types) {
    return refused(usual("qwen3", "\"num_key_value_heads\": 8, \"layer_types\": " + types));
  };
  const auto found = told(R"(["full_attention"])");
  ASSERT_EQ(codes(found), Codes{"O0922"});
  EXPECT_EQ(found[0].primary.where.line, 2);
  EXPECT_EQ(codes(told(R"(["full_attention", "full_attention"])")), Codes{});
  EXPECT_EQ(codes(told(R"(["full_attention", "full_attention", "full_attention"])")), Codes{"O0922"});
  EXPECT_EQ(codes(told("[]")), Codes{"O0922"});
  EXPECT_EQ(codes(told("null")), Codes{});
  const auto mixture = [](const std::string& dense) {
    return codes(refused(usual("glm4_moe", "\"num_key_value_heads\": 8, \"first_k_dense_replace\": " + dense)));
  };
  EXPECT_EQ(mixture("2"), Codes{});
  EXPECT_EQ(mixture("3"), Codes{"O0922"});
}

TEST(HuggingFaceConfig, TypesOfLayersThatNobodyKnowsAreRefusedWithTheNearest) {
  const auto found = refused(usual("gemma2", R"("layer_types": ["full_attention", "sliding_attenton"])"));
  ASSERT_EQ(codes(found), Codes{"O0903"});
  EXPECT_EQ(found[0].hints.at(0), "did you mean `sliding_attention`?");
  EXPECT_EQ(codes(refused(usual("qwen3", R"("num_key_value_heads": 8, "layer_types": ["full_attention", 1])"))),
            Codes{"O0903"});
  EXPECT_EQ(codes(refused(usual("qwen3", R"("num_key_value_heads": 8, "layer_types": "full_attention")"))),
            Codes{"O0903"});
  EXPECT_EQ(codes(refused(llama_with(R"("layer_types": ["full_attention", "linear_attention"])"))), Codes{"O0917"})
      << "the family's class does not read it";
}

TEST(HuggingFaceConfig, NullOrMistypedExpertsAreReportedOnce) {
  const auto mixture = [](const std::string& count, const std::string& visited) {
    return codes(
        refused(usual("mixtral", "\"num_local_experts\": " + count + ", \"num_experts_per_tok\": " + visited)));
  };
  EXPECT_EQ(mixture("8", "null"), Codes{"O0902"});
  EXPECT_EQ(mixture("null", "2"), Codes{"O0902"});
  EXPECT_EQ(mixture("8", "\"2\""), Codes{"O0903"});
  EXPECT_EQ(mixture("8", "0"), Codes{"O0910"});
}

// What contradicts what, file by file; each is said where the key stands.
TEST(HuggingFaceConfig, SizesThatContradictEachOtherAreRefusedWhereTheyStand) {
  const struct {
    const char *config, *code, *key;
  } files[] = {
      {R"({"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 9, "num_heads": 3})",
       "O0911", "num_heads"},
      {R"({"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
           "intermediate_size": 64, "image_size": 8, "patch_size": 16})",
       "O0910", "image_size"},
      {R"({"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
           "intermediate_size": 64, "image_size": [8, 8, 8]})",
       "O0903", "image_size"},
      {R"({"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 9, "expand": -2})", "O0910",
       "expand"},
      {R"({"model_type": "albert", "hidden_size": 64, "num_hidden_layers": 900000, "num_attention_heads": 4,
           "intermediate_size": 64, "vocab_size": 9, "inner_group_num": 900000})",
       "O0910", "inner_group_num"},
      {R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2000000, "num_attention_heads": 4,
           "intermediate_size": 64, "vocab_size": 9})",
       "O0910", "num_hidden_layers"},
      {R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
           "num_key_value_heads": 3, "intermediate_size": 64, "vocab_size": 9})",
       "O0912", "num_key_value_heads"},
      {R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
           "intermediate_size": "NaN", "vocab_size": 9})",
       "O0903", "intermediate_size"},
      {R"({"model_type": "gemma2", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
           "intermediate_size": 64, "vocab_size": 9, "attention_bias": "yes"})",
       "O0903", "attention_bias"},
      {R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
           "intermediate_size": 64, "vocab_size": 9, "mlp_only_layers": [0, "1"]})",
       "O0903", "mlp_only_layers"},
      {R"({"model_type": "llama4_text", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
           "intermediate_size": 64, "vocab_size": 9, "num_local_experts": 4, "num_experts_per_tok": 5})",
       "O0907", "num_experts_per_tok"},
  };
  for (const auto& file : files) {
    SCOPED_TRACE(file.config);
    const auto found = refused(file.config);
    ASSERT_EQ(codes(found), Codes{file.code});
    const std::string text = file.config;
    const std::size_t line = std::count(text.begin(), text.begin() + static_cast<long>(text.find(file.key)), '\n') + 1;
    EXPECT_EQ(found[0].primary.where.line, static_cast<int>(line));
    EXPECT_GT(found[0].primary.where.column, 1);
  }
}

TEST(HuggingFaceConfig, NotANumberIsNoSize) {
  for (const char* number : {"0x10", "1_000", "+4", "inf", "Infinite"})
    EXPECT_EQ(codes(refused(llama_with("\"head_dim\": " + std::string(number)))), Codes{"O0900"}) << number;
  // Which Python writes.
  for (const char* number : {"NaN", "Infinity", "-Infinity"})
    EXPECT_EQ(codes(refused(llama_with("\"head_dim\": " + std::string(number)))), Codes{"O0903"}) << number;
}

TEST(HuggingFaceConfig, ATypesDefaultsSayNothingOfFilesThatAreReadLikeIt) {
  const std::string sparse =
      R"({"model_type": "brand_new", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "intermediate_size": 96, "vocab_size": 100, "num_local_experts": 8, "num_experts_per_tok": 2})";
  const auto found = refused(sparse, {.like = "qwen3_moe"});
  ASSERT_EQ(codes(found), Codes{"O0902"});
  EXPECT_NE(found[0].message.find("`moe_intermediate_size`"), std::string::npos);
  EXPECT_EQ(model_of(sparse, {.like = "mixtral"}).family, "mixtral");
}

TEST(HuggingFaceConfig, WhatIsNoTypeCannotBeLikeOne) {
  EXPECT_EQ(model_of(usual("brand_new"), {.like = "llama"}).family, "llama");
  const auto found = refused(usual("brand_new"), {.like = "lama"});
  ASSERT_EQ(codes(found), Codes{"O0901"});
  EXPECT_EQ(found[0].hints.at(0), "did you mean `llama`?");
  EXPECT_NE(refused(usual("brand_new")).at(0).hints.at(0).find("--like"), std::string::npos);
}

// Keys say more than names: a mixture beside linear attention is not called a llama.
TEST(HuggingFaceConfig, OfAnUnknownTypeTheFamilyThatReadsTheMostKeysIsNamed) {
  const auto hint = [](const std::string& more) {
    return refused(usual("brand_new", more), {.nearest = true}).at(0).hints.at(0);
  };
  EXPECT_NE(hint("\"num_key_value_heads\": 2").find("`--like llama`"), std::string::npos);
  const std::string next =
      R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
      "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
      "linear_conv_kernel_dim": 4, "layer_types": ["linear_attention", "full_attention"])";
  EXPECT_NE(hint(next).find("`--like qwen3_"), std::string::npos) << hint(next);
  EXPECT_NE(hint(next + ", \"frobnication\": 3").find("leaves out `frobnication`"), std::string::npos);
  EXPECT_EQ(refused(usual("qwen3_8_flash_next_text")).at(0).notes.at(0),
            "what no kind of layer here says: an index scores blocks of keys that are pooled");
  EXPECT_EQ(hint("\"num_key_value_heads\": 3").find("llama"), std::string::npos) << "nobody reads three of eight heads";
}

TEST(HuggingFaceConfig, ACompositeNeedsItsLanguageModel) {
  for (const char* type : {"llava", "mistral3", "qwen2_5_vl"}) {
    const auto found = refused(std::string("{\"model_type\": \"") + type + "\", \"vision_config\": {}}");
    ASSERT_EQ(codes(found), Codes{"O0902"}) << type;
    EXPECT_NE(found[0].message.find("text_config"), std::string::npos);
  }
}

TEST(HuggingFaceConfig, MoreParametersThanCanBeCountedAreRefused) {
  const auto found = refused(R"({"model_type": "llama", "hidden_size": 1000000000, "num_hidden_layers": 1000000,
    "num_attention_heads": 1, "intermediate_size": 1000000000, "vocab_size": 1000000000})");
  EXPECT_EQ(codes(found), Codes{"O0914"});
}

// Of as many layers as a model may have, each told of by name or number: linear in them.
TEST(HuggingFaceConfig, NearlyAMillionLayersAreReadAtOnce) {
  std::string types = R"("layer_types": ["sliding_attention")", numbers = R"("mlp_only_layers": [899999)";
  for (int layer = 1; layer < 900000; ++layer) {
    types += R"(, "full_attention")";
    if (layer % 2 == 0) numbers += ", " + std::to_string(layer);
  }
  const auto many = [](const std::string& type, const std::string& more) {
    return base::replaced(usual(type, "\"num_key_value_heads\": 8, " + more + "]"), "layers\": 2", "layers\": 900000");
  };
  EXPECT_EQ(model_of(many("gemma2", types)).decoder().kinds.size(), 2u);
  EXPECT_EQ(model_of(many("qwen3_moe", numbers)).decoder().kinds.size(), 2u);
  EXPECT_EQ(codes(refused(many("gemma2", types + ", \"full_attention\""))), Codes{"O0922"});
}

TEST(HuggingFaceKeys, ManyKeysThatNobodyKnowsAreNamedAtOnce) {
  std::string more = "\"key_0\": 0";
  for (int key = 1; key < 100000; ++key) more += ", \"key_" + std::to_string(key) + "\": 0";
  EXPECT_EQ(warnings_of(llama_with(more)).size(), 100000u);
}

}  // namespace
}  // namespace orrery::formats::huggingface
