#include "orrery/verbs/map/loop_nest_text.h"

#include <gtest/gtest.h>

#include "orrery/verbs/map/example_layer_test_util.h"

namespace orrery::verbs {
namespace {

TEST(MapTxt, ShowsTilesBesideStoragesAndLoopsOfMoreThanOneIteration) {
  const MappedLayer layer = example_layer();
  EXPECT_EQ(map_text(layer.einsum, layer.chip, *layer.optimum.mapping, layer.optimum.evaluation),
            "DRAM [ Weights:32 (32) Inputs:48 (48) Outputs:24 (24) ] \n"
            "-------------------------------------------------------\n"
            "| for L in [0:6)\n"
            "\n"
            "Buffer [ Weights:32 (32) Inputs:8 (8) Outputs:4 (4) ] \n"
            "-----------------------------------------------------\n"
            "|   for E in [0:8)\n"
            "|     for D in [0:4) (Spatial-X)\n"
            "|       << Compute >>\n");
}

TEST(OneLine, NamesALevelsOutermostDimensionWhereItIteratesOverNone) {
  MappedLayer layer = example_layer();
  nest::Mapping mapping = *layer.optimum.mapping;
  mapping.levels[0].temporal.assign(mapping.levels[0].temporal.size(), 1);
  mapping.levels[0].keep = 1;
  const std::string last = layer.einsum.dimensions[mapping.levels[0].temporal_order.back()].name;
  EXPECT_EQ(one_line(layer.einsum, mapping), "L2[WIO] L6 - L1[W] " + last + "1 D4X");
}

TEST(OneLine, HasNamesOfLevelsForPeopleAndTimeloopsNumbersForItsReaders) {
  const MappedLayer layer = example_layer();
  EXPECT_EQ(mapping_line(layer, *layer.optimum.mapping, false), "DRAM[WIO] L6 - Buffer[WIO] E8 D4X");
  EXPECT_EQ(mapping_line(layer, *layer.optimum.mapping, true), "L2[WIO] L6 - L1[WIO] E8 D4X");
}

TEST(OneLine, SpellsDataspacesOutWhenTheirFirstLettersMeet) {
  MappedLayer layer = example_layer();
  layer.einsum.dataspaces[0].name = "Inner";
  EXPECT_EQ(one_line(layer.einsum, *layer.optimum.mapping).substr(0, 25), "L2[Inner,Inputs,Outputs] ");
}

TEST(LayerView, NamesTheLevelWhoseBandwidthBounds) {
  const MappedLayer layer = example_layer();
  ASSERT_EQ(binding_level(layer.optimum.evaluation), 0) << "four MACs want more than two words a cycle";
  const std::string view = layer_view(layer);
  EXPECT_NE(view.find("bandwidth of Buffer"), std::string::npos) << view;
  EXPECT_NE(view.find("█"), std::string::npos);
  EXPECT_NE(view.find("modelled"), std::string::npos);
}

TEST(LayerView, SaysComputeBoundWhenNoStorageSlowsIt) {
  MappedLayer layer = example_layer();
  layer.chip.storages[0].read_words_per_cycle.reset();
  layer.chip.storages[0].write_words_per_cycle.reset();
  layer.optimum.evaluation = nest::evaluate(layer.einsum, layer.chip, *layer.optimum.mapping);
  EXPECT_NE(layer_view(layer).find("bound by     compute"), std::string::npos);
}

}  // namespace
}  // namespace orrery::verbs
