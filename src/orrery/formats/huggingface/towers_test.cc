// Vision towers are counted beside their language models, as transformers 5.23.0 has them.
#include <gtest/gtest.h>

#include <string>

#include "orrery/formats/huggingface/config_test_util.h"

namespace orrery::formats::huggingface {
namespace {

using base::codes, base::Codes;

base::Count parameters_of(const std::string& text) {
  return workload::parameters(model_of(text, {.outside = Outside::kPassed})).total;
}

TEST(Towers, HaveTheParametersOfTheirClasses) {
  const std::string clip = R"("vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024,
    "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336, "patch_size": 14})";
  EXPECT_EQ(parameters_of(R"({"model_type": "llava", "text_config": {"model_type": "llama", "hidden_size": 4096,
    "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32064}, )" +
                          clip + "}"),
            7063427072);
  const std::string gemma = R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "num_hidden_layers": 34,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 10240,
    "vocab_size": 262208, "sliding_window": 1024}, "vision_config": {"model_type": "siglip_vision_model",
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
    "image_size": 896, "patch_size": 14, "vision_use_head": )";
  EXPECT_EQ(parameters_of(gemma + "true}}"), 4315317824);
  EXPECT_EQ(parameters_of(gemma + "false}}"), 4300079472);
  EXPECT_EQ(parameters_of(R"({"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text",
    "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
    "intermediate_size": 18944, "vocab_size": 152064, "tie_word_embeddings": false}, "tie_word_embeddings": false,
    "vision_config": {"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, "intermediate_size": 3420,
    "num_heads": 16, "out_hidden_size": 3584}})"),
            8292166656);
}

// What leads from a tower into the decoder is the composite's, whatever tower it has.
TEST(Towers, AreFollowedByTheProjectorOfTheComposite) {
  const auto with = [](const std::string& composite, const std::string& language, const std::string& tower,
                       const std::string& more = "") {
    return R"({"model_type": ")" + composite + R"(", "text_config": {"model_type": ")" + language + R"(",
      "hidden_size": 160, "num_hidden_layers": 3, "num_attention_heads": 10, "num_key_value_heads": 5,
      "intermediate_size": 168, "vocab_size": 1009, "tie_word_embeddings": false, "max_position_embeddings": 512},
      "vision_config": {"model_type": ")" +
           tower + R"(", "hidden_size": 48, "intermediate_size": 88, "num_hidden_layers": 3,
      "num_attention_heads": 4, "image_size": 56, "patch_size": 14)" +
           (tower == "pixtral" ? R"(, "head_dim": 12)" : "") + "}" + more + "}";
  };
  EXPECT_EQ(parameters_of(with("llava", "llama", "clip_vision_model")), 913752);
  EXPECT_EQ(parameters_of(with("llava", "llama", "clip_vision_model", R"(, "multimodal_projector_bias": false)")),
            913432);
  EXPECT_EQ(parameters_of(with("llava", "qwen2", "siglip_vision_model")), 932704);
  EXPECT_EQ(parameters_of(with("llava", "mistral", "pixtral", R"(, "vision_feature_layer": -1)")), 924144);
  // The outputs of two of the tower's layers, side by side.
  EXPECT_EQ(parameters_of(with("llava", "llama", "clip_vision_model", R"(, "vision_feature_layer": [-2, -1])")),
            921432);
}

// Its class ties where the whole says so, whatever its language model says.
TEST(Towers, ModelsOfMuseGlimmerTieWhereTheWholeSaysSo) {
  const auto of = [](const std::string& outer, const std::string& inner) {
    return parameters_of(R"({"model_type": "muse_glimmer", )" + outer + R"("text_config": {"hidden_size": 60,
      "num_hidden_layers": 5, "num_attention_heads": 6, "intermediate_size": 137, "vocab_size": 1003,
      "num_key_value_heads": 2, "head_dim": 14, "tie_word_embeddings": )" +
                         inner + "}}");
  };
  EXPECT_EQ(of("", "true"), of("", "false"));
  EXPECT_EQ(of("", "true") - of("\"tie_word_embeddings\": true, ", "false"), 1003 * 60);
}

TEST(Towers, OfCompositesWhoseProjectorIsNotKnownAreNamed) {
  const auto of = [](const std::string& composite, const std::string& more = "") {
    return R"({"model_type": ")" + composite + R"(", "text_config": )" + usual("llama") +
           R"(, "vision_config": {"model_type": "siglip_vision_model"})" + more + "}";
  };
  const ReadOptions warned = {.outside = Outside::kWarned};
  EXPECT_EQ(warnings_of(of("llava"), warned), Codes{});
  EXPECT_EQ(warnings_of(of("llava_next"), warned), Codes{"O0917"});
  EXPECT_EQ(parameters_of(of("llava_next")), parameters_of(usual("llama")));
  EXPECT_EQ(codes(refused(of("llava", R"(, "multimodal_projector_bias": 1)"), warned)), Codes{"O0903"});
}

TEST(Towers, AreNoPartOfWhatATokenOfTextDoes) {
  const std::string text = R"({"model_type": "llava", "text_config": )" + usual("llama");
  const std::string tower = R"(, "vision_config": {"model_type": "clip_vision_model"}})";
  const workload::Transformer alone = model_of(text + "}"),
                              beside = model_of(text + tower, {.outside = Outside::kPassed});
  EXPECT_GT(workload::parameters(beside).total, workload::parameters(alone).total);
  EXPECT_EQ(workload::forward_flop(beside, 64).products, workload::forward_flop(alone, 64).products);
  EXPECT_EQ(workload::cache_elements(beside), workload::cache_elements(alone));
}

// As at top level: what is unknown, given twice or cannot be is told, in the tower, too.
TEST(Towers, AreCheckedAsLanguageModelsAre) {
  const auto with = [](const std::string& more) {
    return R"({"model_type": "llava", "text_config": )" + usual("llama") +
           R"(, "vision_config": {"model_type": "clip_vision_model", )" + more + "}}";
  };
  const ReadOptions warned = {.outside = Outside::kWarned};
  EXPECT_EQ(warnings_of(with(R"("hidden_size": 1024, "num_attention_heads": 16, "projection_dim": 768)"), warned),
            Codes{});
  const auto found = read_config(base::source(with(R"("num_hiden_layers": 24)")), warned).diagnostics.all();
  ASSERT_EQ(codes(found), Codes{"O0916"});
  EXPECT_EQ(found[0].hints.at(0), "did you mean `num_hidden_layers`?");
  EXPECT_EQ(warnings_of(with(R"("patch_size": 14, "patch_size": 16)"), warned), Codes{"O0904"});
  EXPECT_EQ(codes(refused(with(R"("hidden_size": 1000, "num_attention_heads": 16)"), warned)), Codes{"O0911"});
  EXPECT_EQ(codes(refused(with(R"("image_size": 8, "patch_size": 16)"), warned)), Codes{"O0910"});
  EXPECT_EQ(codes(refused(with(R"("num_hidden_layers": "24")"), warned)), Codes{"O0903"});
}

TEST(Towers, TooLargeToBeCountedAreRefused) {
  const std::string text = R"({"model_type": "llava", "text_config": )" + usual("llama");
  EXPECT_EQ(codes(refused(text + R"(, "vision_config": {"model_type": "clip_vision_model", "patch_size": 536870912,
    "image_size": 536870912, "num_channels": 536870912}})",
                          {.outside = Outside::kPassed})),
            Codes{"O0914"});
  EXPECT_EQ(codes(refused(R"({"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "image_size": 1000000000, "patch_size": 1000000000, "num_channels": 1000000000})")),
            Codes{"O0914"});
}

}  // namespace
}  // namespace orrery::formats::huggingface
