#include "orrery/verbs/map/table.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "orrery/inputs/layers/layer_figures.h"
#include "orrery/verbs/map/example_layer_test_util.h"

namespace orrery::verbs {
namespace {

TEST(ModelTable, HasARowALayerAndTotalsOfOneBlockAndAllBlocks) {
  const MappedLayer layer = example_layer();
  const std::string one = model_table({layer, layer}, 24);
  EXPECT_NE(one.find("one block"), std::string::npos);
  EXPECT_NE(one.find("all blocks"), std::string::npos);
  EXPECT_NE(one.find("optimal"), std::string::npos);
  EXPECT_NE(one.find("modelled"), std::string::npos);
  EXPECT_NE(one.find(std::to_string(layer.optimum.evaluation.cycles * 2 * 3 * 24)), std::string::npos) << one;
}

TEST(ModelTable, TotalsOfOneLayerOfAModelBearItsName) {
  const std::string shown = model_table({example_layer()}, 24, "FF2");
  EXPECT_NE(shown.find("FF2, one block "), std::string::npos) << shown;
  EXPECT_NE(shown.find("FF2, all blocks "), std::string::npos) << shown;
}

TEST(ModelTable, ShowsWhatAnArrayDoesInItsPlaceAndCountsIt) {
  const MappedLayer layer = example_layer();
  ArrayAttention attention;
  attention.array.name = "array.json", attention.array.density = 0.25, attention.cycle_seconds = 1.2e-9;
  attention.rows.resize(1);
  attention.rows[0].name = "attention", attention.rows[0].instances = 5, attention.rows[0].cycles = 1000;
  attention.rows[0].before = 1;
  const std::string shown = model_table({layer, infeasible_layer()}, 1, {}, attention);
  const std::size_t first = shown.find("\nsmall"), row = shown.find("\nattention"), last = shown.find("\nimpossible");
  EXPECT_TRUE(first < row && row < last && last != std::string::npos) << shown;
  EXPECT_NE(shown.find("  simulated\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("total, 2 of 3 layers"), std::string::npos) << shown;
  EXPECT_NE(shown.find(std::to_string(layer.optimum.evaluation.cycles * layer.instances + 5000)), std::string::npos);
  EXPECT_NE(shown.find("simulated: array.json, at a density of 0.2500; its seconds in cycles of the chip, 1.2 ns each"),
            std::string::npos);
}

TEST(ModelTable, SaysHowLongALayerTakesWhatBindsItAndWhereItIsUnderTheRoof) {
  const MappedLayer layer = example_layer();
  const LayerFigures figures = figures_of(layer);
  EXPECT_DOUBLE_EQ(figures.seconds, static_cast<double>(layer.optimum.evaluation.cycles) * layer.chip.cycle_seconds);
  EXPECT_DOUBLE_EQ(figures.power_w * figures.seconds, layer.optimum.evaluation.energy_pj * 1e-12);
  EXPECT_EQ(figures.bound_by, "Buffer");
  EXPECT_LE(figures.roofline_share, 1);
  EXPECT_GE(figures.roofline_share, layer.optimum.evaluation.utilization);
  const std::string shown = model_table({layer}, 1);
  EXPECT_NE(shown.find("  Buffer "), std::string::npos) << shown;
  EXPECT_NE(shown.find(fmt::format("a byte that passes {}", layer.chip.storages.back().name)), std::string::npos);
}

TEST(ModelTable, HasNoTotalOfNothing) {
  const std::string shown = model_table({infeasible_layer(), infeasible_layer()}, 24);
  EXPECT_EQ(shown.find("block"), std::string::npos) << shown;
}

TEST(ModelTable, SaysWhatWasMadeLeast) {
  MappedLayer layer = example_layer();
  layer.objective = {nest::Metric::kDelay, nest::Metric::kEnergy};
  EXPECT_NE(model_table({layer}, 1).find("; least delay, then energy\n"), std::string::npos);
  layer.searched = false;
  EXPECT_EQ(model_table({layer}, 1).find("least"), std::string::npos) << "a given mapping is the least of nothing";
}

TEST(ModelTable, OneLayerOfOneInstanceNeedsNoTotal) {
  MappedLayer layer = example_layer();
  layer.instances = 1;
  EXPECT_EQ(model_table({layer}, 1).find("total  "), std::string::npos);
}

TEST(ModelTable, ShowsGapAndMissingMappings) {
  MappedLayer late = example_layer();
  late.optimum.certificate.optimal = false;
  late.optimum.certificate.gap = 0.125;
  const std::string shown = model_table({late, infeasible_layer()}, 1);
  EXPECT_NE(shown.find("gap 12.50%"), std::string::npos) << shown;
  EXPECT_NE(shown.find("no mapping"), std::string::npos);
  EXPECT_NE(shown.find("incomplete"), std::string::npos) << "a total that lacks a layer must say so";
  EXPECT_NE(shown.find("total, 1 of 2 layers"), std::string::npos) << shown;
}

}  // namespace
}  // namespace orrery::verbs
