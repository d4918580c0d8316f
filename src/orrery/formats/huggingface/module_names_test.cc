// Lists of unconverted modules pick what they name, in all ways in which files write them.
#include "orrery/formats/huggingface/module_names.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace orrery::formats::huggingface {
namespace {

const ModuleName kQueries = {false, 3, {"self_attn.q_proj", "attn.c_attn"}};
const ModuleName kRouter = {false, 3, {"mlp.gate", "block_sparse_moe.gate"}};
const ModuleName kExpert = {false, 3, {"mlp.experts.*.gate_proj"}};
const ModuleName kHead = {false, std::nullopt, {"lm_head"}};
const ModuleName kTower = {true, 3, {"self_attn.q_proj", "attn.qkv"}};

bool picks(const char* text, const ModuleName& module) {
  const ModulePattern pattern(text);
  EXPECT_TRUE(pattern.understood()) << text;
  return pattern.picks(module);
}

TEST(ModuleNames, APlainNameIsMatchedPartByPart) {
  for (const char* text :
       {"self_attn", "q_proj", "self_attn.q_proj", "model.layers.3.self_attn", "c_attn",
        "model.layers.3.self_attn.q_proj", "language_model.model.layers.3", "transformer.h.3.attn.c_attn"})
    EXPECT_TRUE(picks(text, kQueries)) << text;
  for (const char* text : {"lm_head", "proj", "self_attn.k_proj", "model.layers.30.self_attn", "model.layers.2",
                           "q_proj.self_attn", "visual", "model.layers.3.mlp", "model", "vision_tower"})
    EXPECT_FALSE(picks(text, kQueries)) << text;
  EXPECT_TRUE(picks("gate", kRouter));
  EXPECT_TRUE(picks("mlp.gate", kRouter));
  EXPECT_FALSE(picks("mlp.gate", kExpert)) << "a whole part";
  EXPECT_TRUE(picks("model.layers.3.mlp.experts.17.gate_proj", kExpert));
  EXPECT_TRUE(picks("lm_head", kHead));
  EXPECT_FALSE(picks("gate", kHead));
}

TEST(ModuleNames, AStarLeavesAPartOpen) {
  for (const char* text : {"model.layers.*.self_attn", "model.layers.*.self_attn*", "*self_attn*", "*.q_proj",
                           "model.layers.*", "model.layers.3.*"})
    EXPECT_TRUE(picks(text, kQueries)) << text;
  for (const char* text : {"model.layers.*.mlp", "model.layers.4.*", "*lm_head*"})
    EXPECT_FALSE(picks(text, kQueries)) << text;
  EXPECT_TRUE(picks("*lm_head*", kHead));
}

TEST(ModuleNames, AStarBehindANameTakesThatNameToo) {
  for (const char* text : {"model.vision_tower*", "vision_tower*", "model.visual*", "*visual*", "*vision*"}) {
    EXPECT_TRUE(picks(text, kTower)) << text;
    EXPECT_FALSE(picks(text, kQueries)) << text;
  }
  for (const char* text : {"model.layers.3*", "language_model.model.layers.3*", "*.layers.3*", "backbone.layers.3.*"}) {
    EXPECT_TRUE(picks(text, kQueries)) << text;
    EXPECT_FALSE(picks(text, kTower)) << text;
    EXPECT_FALSE(picks(text, kHead)) << text;
  }
  // As a shell would match it: 1 is also the first digit of 13.
  EXPECT_TRUE(picks("model.layers.1*", {false, 13, kQueries.names}));
  EXPECT_FALSE(picks("model.layers.1*", kQueries));
  EXPECT_FALSE(picks("model.layers.1.*", {false, 13, kQueries.names}));
}

TEST(ModuleNames, AStarStandsForSeveralPartsOrNone) {
  for (const char* text :
       {"*.mlp.experts.*", "*.experts*", "*mlp*gate_proj", "model.layers.*mlp*", "*layers.*.mlp*", "model.*.experts.*"})
    EXPECT_TRUE(picks(text, kExpert)) << text;
  for (const char* text : {"*.mlp.experts.*", "*.mlp.experts*", "*mlp*down_proj"})
    EXPECT_FALSE(picks(text, kRouter)) << text;
}

TEST(ModuleNames, LayersThatPredictAheadAreNoDecoderLayers) {
  for (const char* text : {"mtp.layers.3.*", "mtp.layers.3*", "mtp.layers.3.self_attn", "mtp*", "model.mtp.layers.3"}) {
    EXPECT_FALSE(picks(text, kQueries)) << text;
    EXPECT_TRUE(ModulePattern(text).of_prediction()) << text;
  }
}

TEST(ModuleNames, AProjectorIsNotTheTowerBeforeIt) {
  const ModuleName projector = {true, std::nullopt, {"projector", "linear_1"}};
  for (const char* text : {"mm_projector*", "multi_modal_projector", "model.embed_vision*"}) {
    EXPECT_TRUE(picks(text, projector)) << text;
    EXPECT_FALSE(picks(text, kTower)) << text;
  }
}

TEST(ModuleNames, ExpressionsMatchFromTheStart) {
  for (const char* text :
       {"re:.*self_attn.*", "re:.*q_proj$", "re:model\\.layers\\.(1|3)\\.self_attn", "re:.*(q|k)_proj$",
        "re:^model.layers.[0-9]+.self_attn.[qkv]_proj$", "re:.*layers\\.\\d+\\..*", ".*attn.*"})
    EXPECT_TRUE(picks(text, kQueries)) << text;
  for (const char* text : {"re:self_attn", "re:.*self_attn$", "re:model\\.layers\\.(1|2)\\.self_attn", "re:.*mlp.*"})
    EXPECT_FALSE(picks(text, kQueries)) << text;
  EXPECT_TRUE(picks("re:.*lm_head", kHead));
  EXPECT_FALSE(picks("re:.*gate$", kExpert));
  EXPECT_TRUE(picks("re:.*gate", kExpert)) << "expressions end anywhere";
}

TEST(ModuleNames, TowersAreNamedByThemselves) {
  for (const char* text : {"visual", "model.visual", "vision_tower", "visual.blocks.3.attn.qkv", "re:.*visual.*",
                           "re:vision_tower.*", "self_attn"})
    EXPECT_TRUE(picks(text, kTower)) << text;
  for (const char* text : {"model.layers.3.self_attn", "visual.blocks.4", "re:model.layers.*", "lm_head"})
    EXPECT_FALSE(picks(text, kTower)) << text;
}

TEST(ModuleNames, ExpressionsThatAreNotReadSaySo) {
  for (const char* text : {"re:(ab)*", "re:(a", "re:a)", "re:[ab", "re:a{2}", "re:\\w+", "re:*", "re:a$b", "re:a^", ""})
    EXPECT_FALSE(ModulePattern(text).understood()) << text;
}

TEST(ModuleNames, AnyTextIsReadQuickly) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("re:.*+?[](|)\\$^ab0-layers")));
    const ModulePattern pattern(text);
    pattern.picks(kQueries);
    const ModulePattern expression("re:" + text);
    expression.picks(kTower);
  }));
  ModulePattern("re:" + std::string(400, '(') + std::string(400, ')')).picks(kQueries);
  std::string many = "re:";
  for (int i = 0; i < 300; ++i) many += "a*";
  EXPECT_FALSE(ModulePattern(many + "b$").picks({false, 3, {std::string(2000, 'a')}}));
}

}  // namespace
}  // namespace orrery::formats::huggingface
