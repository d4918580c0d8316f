#include "orrery/verbs/map/why_text.h"

#include <gtest/gtest.h>

#include "orrery/verbs/map/example_layer_test_util.h"
#include "orrery/verbs/map/table.h"

namespace orrery::verbs {
namespace {

// The example with the buffer's reduction moved out to DRAM.
MappedLayer layer_with_forced_choice() {
  MappedLayer layer = example_layer();
  nest::Optimum forced = layer.optimum;
  const int e = layer.einsum.dimension_index("E");
  forced.mapping->levels[0].temporal[e] = 4;
  forced.mapping->levels[1].temporal[e] = 2;
  forced.evaluation = nest::evaluate(layer.einsum, layer.chip, *forced.mapping);
  layer.forced = Forced{"Buffer.E=4", std::move(forced)};
  return layer;
}

TEST(Why, ShowsBothCostsTheirRatioAndTheLevelsThatDiffer) {
  const MappedLayer layer = layer_with_forced_choice();
  const CostRatio ratio = ratio_to_best(layer);
  EXPECT_DOUBLE_EQ(ratio.energy, layer.forced->optimum.evaluation.energy_pj / layer.optimum.evaluation.energy_pj);
  EXPECT_NEAR(ratio.edp, ratio.energy * ratio.cycles, 1e-12);
  const std::vector<LevelDifference> levels = level_differences(layer);
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels[0].name, "DRAM");
  const std::string text = why_view(layer);
  EXPECT_NE(text.find("small: why not Buffer.E=4"), std::string::npos) << text;
  EXPECT_NE(text.find("DRAM (uJ)"), std::string::npos) << text;
  EXPECT_EQ(text.find("MAC (uJ)"), std::string::npos) << text;
  EXPECT_NE(text.find("forced  DRAM[WIO]"), std::string::npos) << text;
}

TEST(Why, AChoiceThatCostsNothingChangesNoLevel) {
  MappedLayer layer = example_layer();
  layer.forced = Forced{"Buffer.E=8", layer.optimum};
  EXPECT_EQ(ratio_to_best(layer).edp, 1);
  EXPECT_TRUE(level_differences(layer).empty());
  EXPECT_NE(why_view(layer).find("no level's energy differs"), std::string::npos);
}

TEST(FrontTable, ListsEachPointAndSaysWhetherAllAreThere) {
  MappedLayer layer = layer_with_forced_choice();
  layer.front = nest::ParetoFront{};
  layer.front->points = {layer.optimum, layer.forced->optimum};
  layer.front->points[1].certificate.optimal = false;
  layer.front->points[1].certificate.gap = 0.25;
  const std::string text = front_table(layer);
  EXPECT_NE(text.find("2 points"), std::string::npos) << text;
  EXPECT_NE(text.find("gap 25.00%"), std::string::npos) << text;
  EXPECT_NE(text.find("   2  DRAM[WIO]"), std::string::npos) << text;
  EXPECT_NE(text.find("complete: every"), std::string::npos) << text;
  layer.front->complete = false;
  EXPECT_NE(front_table(layer).find("not complete"), std::string::npos);
}

}  // namespace
}  // namespace orrery::verbs
