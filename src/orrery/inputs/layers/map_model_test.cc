#include "orrery/inputs/layers/map_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "orrery/engines/nest/model/model.h"
#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/inputs/layers/layer_question_test_util.h"

namespace orrery::verbs {
namespace {

using testing::product;

const auto kMapModelChip = std::make_shared<const machine::Chip>(testing::small_chip());

TEST(MapLayers, EqualQuestionsAreSearchedOnceAndKeepTheirNamesAndInstances) {
  std::vector<std::string> searched;
  MapOptions options;
  options.progress = [&](std::size_t, std::size_t, const std::string& name) { searched.push_back(name); };
  const MappedModel mapped = map_layers({product("a", kMapModelChip, 8, 8, 8, 2), product("b", kMapModelChip, 4, 8, 16),
                                         product("c", kMapModelChip, 8, 8, 8, 5)},
                                        options);
  EXPECT_EQ(searched, (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(mapped.layers[2].found());
  EXPECT_EQ(mapped.layers[2].name, "c");
  EXPECT_EQ(mapped.layers[2].einsum.name, "c");
  EXPECT_EQ(mapped.layers[2].instances, 5);
  EXPECT_EQ(mapped.layers[2].optimum.mapping, mapped.layers[0].optimum.mapping);
}

TEST(MapLayers, OtherMapSpacesAndChipsAreOtherQuestions) {
  LayerQuestion free = product("free", kMapModelChip, 8, 8, 8), bound = free, elsewhere = free;
  nest::Constraint whole;
  whole.level = 1;
  whole.dimension = free.einsum.dimension_index("L");
  whole.value = 8;
  bound.space.constraints = {whole};
  machine::Chip dear = *kMapModelChip;
  dear.compute.compute_pj = 1000;
  elsewhere.chip = std::make_shared<const machine::Chip>(dear);
  EXPECT_FALSE(same_search(free, bound));
  EXPECT_FALSE(same_search(free, elsewhere));
  const MappedModel mapped = map_layers({free, bound, elsewhere}, {});
  const int l = whole.dimension;
  ASSERT_TRUE(mapped.layers[1].found() && mapped.layers[2].found());
  EXPECT_EQ(mapped.layers[1].optimum.mapping->levels[1].temporal[l], 8);
  EXPECT_GT(mapped.layers[2].optimum.evaluation.energy_pj, 2 * mapped.layers[0].optimum.evaluation.energy_pj);
}

TEST(MapLayers, AddsTheFrontTheForcedChoiceAndTheCheckWhenAsked) {
  const std::vector<LayerQuestion> questions{product("a", kMapModelChip, 8, 8, 8)};
  const MappedModel plain = map_layers(questions, {});
  EXPECT_FALSE(plain.layers[0].front || plain.layers[0].forced || plain.layers[0].certified);
  MapOptions options;
  options.front = options.certify = true;
  options.why = "Buffer.spatial.D=2";
  const MappedModel mapped = map_layers(questions, options);
  const MappedLayer& layer = mapped.layers[0];
  EXPECT_EQ(layer.optimum.mapping, plain.layers[0].optimum.mapping);
  ASSERT_TRUE(layer.front && layer.forced && layer.certified);
  EXPECT_TRUE(layer.certified->agrees) << layer.certified->complaint;
  ASSERT_TRUE(layer.forced->optimum.mapping);
  EXPECT_GE(layer.forced->optimum.evaluation.edp_j_cycles, layer.optimum.evaluation.edp_j_cycles);
  EXPECT_EQ(layer.forced->optimum.mapping->levels[0].spatial[layer.einsum.dimension_index("D")], 2);
  ASSERT_FALSE(layer.front->points.empty());
  double least = layer.front->points[0].evaluation.edp_j_cycles;
  for (const nest::Optimum& point : layer.front->points) least = std::min(least, point.evaluation.edp_j_cycles);
  EXPECT_NEAR(least, layer.optimum.evaluation.edp_j_cycles, 1e-11 * least);
}

TEST(MapLayers, AForcedChoiceThatCannotBeIsExplained) {
  MapOptions options;
  options.why = "Buffer.spatial.D=3";
  const MappedModel mapped = map_layers({product("a", kMapModelChip, 8, 8, 8)}, options);
  ASSERT_TRUE(mapped.layers[0].found());
  EXPECT_TRUE(mapped.layers[0].forced->optimum.infeasible);
  EXPECT_EQ(mapped.layers[0].forced->optimum.conflicts.size(), 1u);
}

TEST(MapLayers, AForcedChoiceThatIsNoneIsRefusedOnce) {
  MapOptions options;
  options.why = "Nowhere.D=3";
  try {
    map_layers({product("a", kMapModelChip, 8, 8, 8), product("b", kMapModelChip, 4, 8, 8)}, options);
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    ASSERT_EQ(error.diagnostics.size(), 1u);
    EXPECT_EQ(error.diagnostics[0].code, "O1116");
  }
}

TEST(MapLayers, AnswersDoNotDependOnThreads) {
  std::vector<LayerQuestion> questions;
  for (base::Count d : {4, 8, 12, 16, 24}) questions.push_back(product("layer", kMapModelChip, d, 8, 6));
  MapOptions options;
  options.limits.threads = 1;
  const MappedModel alone = map_layers(questions, options);
  options.limits.threads = 3;
  const MappedModel together = map_layers(questions, options);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    ASSERT_TRUE(alone.layers[i].found());
    EXPECT_TRUE(alone.layers[i].optimum.certificate.optimal);
    EXPECT_EQ(alone.layers[i].optimum.mapping, together.layers[i].optimum.mapping) << i;
    EXPECT_EQ(alone.layers[i].optimum.evaluation.energy_pj, together.layers[i].optimum.evaluation.energy_pj) << i;
  }
}

TEST(MapLayers, EvaluatesItsOwnAnswerToTheSameDigits) {
  const LayerQuestion question = product("product", kMapModelChip, 8, 8, 8);
  const MappedLayer layer = map_layers({question}, {}).layers.at(0);
  ASSERT_TRUE(layer.found());
  const MappedLayer again = evaluate_layer(question, *layer.optimum.mapping, {}, nest::ModelOptions{}, true);
  EXPECT_FALSE(again.searched);
  EXPECT_EQ(again.optimum.evaluation.energy_pj, layer.optimum.evaluation.energy_pj);
  EXPECT_EQ(again.optimum.evaluation.cycles, layer.optimum.evaluation.cycles);
}

TEST(MapLayers, TheCallersObjectiveTakesPrecedenceOverTheQuestions) {
  LayerQuestion question = product("a", kMapModelChip, 4, 4, 4);
  EXPECT_EQ(map_layers({question}, {}).layers[0].objective, std::vector<nest::Metric>{nest::Metric::kEdp});
  question.objective = {nest::Metric::kDelay};
  EXPECT_EQ(map_layers({question}, {}).layers[0].objective, question.objective);
  MapOptions options;
  options.objective = {nest::Metric::kEnergy};
  EXPECT_EQ(map_layers({question}, options).layers[0].objective, options.objective);
}

TEST(EvaluateLayer, RefusesAMappingThatCannotRun) {
  const LayerQuestion question = product("a", kMapModelChip, 8, 8, 8);
  nest::Mapping mapping = *map_layers({question}, {}).layers.at(0).optimum.mapping;
  mapping.levels[0].spatial[0] *= 5;
  EXPECT_THROW(evaluate_layer(question, mapping, {}, {}, false), IllegalMapping);
}

MappedLayer costing(double energy_pj, base::Count cycles, base::Count instances) {
  MappedLayer layer;
  layer.instances = instances;
  layer.optimum.mapping.emplace();
  layer.optimum.evaluation.energy_pj = energy_pj;
  layer.optimum.evaluation.cycles = cycles;
  layer.optimum.evaluation.edp_j_cycles = energy_pj * static_cast<double>(cycles) / 1e12;
  return layer;
}

TEST(Totals, CountInstancesAndMultiplyTheSums) {
  MappedLayer missing = costing(1e9, 1000, 1);
  missing.optimum.mapping.reset();
  const Totals sum = totals({costing(10, 100, 2), costing(5, 10, 3), missing});
  EXPECT_EQ(sum.energy_pj, 35);
  EXPECT_EQ(sum.cycles, 230);
  EXPECT_DOUBLE_EQ(sum.edp_j_cycles, 35 * 230 / 1e12);
  EXPECT_DOUBLE_EQ(sum.edp_seed, (2 * 1000 + 3 * 50) / 1e12);
  const Totals all = times(sum, 10);
  EXPECT_EQ(all.cycles, 2300);
  EXPECT_DOUBLE_EQ(all.edp_j_cycles, 350 * 2300.0 / 1e12);
}

TEST(Totals, RefuseCyclesBeyond64Bits) {
  const base::Count many = base::Count{1} << 40;
  const auto refusal = [](const auto& count) {
    try {
      count();
    } catch (const base::InputError& error) {
      return error.diagnostics.at(0).code + ": " + error.diagnostics.at(0).notes.at(0);
    }
    return std::string("counted");
  };
  EXPECT_EQ(
      refusal([&] { totals({costing(1, 3, many * 4194304)}); }),
      "O1004: 4611686018427387904 instances * 3 cycles exceeds 9223372036854775807, the largest count of 64 bits");
  const MappedLayer half = costing(1, many, many / 262144);
  EXPECT_EQ(refusal([&] { totals({half}); }), "counted");
  EXPECT_EQ(refusal([&] {
              totals({half, half});
            }),
            "O1004: 4611686018427387904 cycles of the layers before `` + 4611686018427387904 of it exceeds "
            "9223372036854775807, the largest count of 64 bits");
  EXPECT_EQ(
      refusal([&] { times(totals({costing(1, many, 1)}), many); }),
      "O1004: 1099511627776 blocks * 1099511627776 cycles exceeds 9223372036854775807, the largest count of 64 bits");
}

}  // namespace
}  // namespace orrery::verbs
