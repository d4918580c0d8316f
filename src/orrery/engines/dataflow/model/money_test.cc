#include <gtest/gtest.h>

#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow {
namespace {

dataflow::Setup machine(std::vector<Link> links) {
  const Count sizes[] = {4, 2, 3, 5};
  dataflow::Setup setup;
  setup.system.chips = 1;
  for (std::size_t j = 0; j < links.size(); ++j) {
    setup.system.network.push_back({links[j], sizes[j], 1});
    setup.system.chips *= sizes[j];
  }
  if (links.size() == 1) {
    setup.system.network[0].size = 6;
    setup.system.chips = 6;
  }
  setup.prices.link_price = setup.prices.switch_price = 1;
  for (double& power : setup.prices.link_power) power = 1;
  setup.prices.switch_power = 0.5;
  setup.execution.workload = LanguageModelRun{};
  return setup;
}

// Links and switches of every dimension; x = 6 alone, else 4, 2, 3, 5. DFModel's table.
struct Row {
  std::vector<Link> kinds;
  std::vector<double> links, switches;
};
constexpr Link r = Link::kRing, sw = Link::kSwitch, fc = Link::kFullyConnected;
const Row kRows[] = {
    {{r}, {6}, {2}},
    {{sw}, {6}, {6}},
    {{fc}, {30}, {0}},
    {{r, r}, {8, 8}, {2 * 2, 2 * 4}},
    {{fc, fc}, {4 * 3 * 2, 2 * 1}, {0, 4}},
    {{r, fc}, {8, 2 * 1}, {2 * 2, 4}},
    {{r, sw}, {8, 2}, {2 * 2, 2}},
    {{sw, sw}, {8, 2}, {8, 2}},
    {{r, r, r}, {24, 24, 24}, {2 * 2 * 3, 2 * 4 * 3, 2 * 4 * 2}},
    {{r, sw, sw}, {24, 6, 3}, {2 * 2 * 3, 6, 3}},
    {{sw, sw, sw}, {24, 6, 3}, {24, 6, 3}},
};

TEST(Money, LinksAndSwitchesOfEveryTopology) {
  for (const Row& row : kRows)
    for (const Defects& defects : {kCorrected, kGen1, kHead}) {
      const dataflow::Setup setup = machine(row.kinds);
      const PlacementMoney found = money(setup, {}, defects);
      EXPECT_EQ(found.link_cost_by_dimension, row.links) << &row - kRows;
      EXPECT_EQ(found.switch_cost_by_dimension, row.switches) << &row - kRows;
      EXPECT_DOUBLE_EQ(found.link_power, found.link_cost);
      EXPECT_DOUBLE_EQ(found.switch_power, found.switch_cost / 2);
    }
}

TEST(Money, TheFourthDimensionIsFreeOnlyForDfmodel) {
  const dataflow::Setup setup = machine({r, r, r, r});
  const PlacementMoney ours = money(setup, {}, kCorrected);
  EXPECT_DOUBLE_EQ(ours.link_cost, 4 * 120);
  EXPECT_DOUBLE_EQ(ours.switch_cost, 2 * 120 * (1 / 4.0 + 1 / 2.0 + 1 / 3.0 + 1 / 5.0));
  const PlacementMoney theirs = money(setup, {}, kHead);
  EXPECT_DOUBLE_EQ(theirs.link_cost, 3 * 120);
  EXPECT_EQ(theirs.switch_cost_by_dimension, (std::vector<double>{2 * 2 * 3, 2 * 4 * 3, 2 * 4 * 2}));  // as without it
  EXPECT_EQ(theirs.link_cost_by_dimension.size(), 3U);
}

TEST(Money, OneChipNeedsNoLinksAndFourNoSwitches) {
  dataflow::Setup setup = machine({r});
  setup.system.chips = setup.system.network[0].size = 4;
  EXPECT_DOUBLE_EQ(money(setup, {}, kCorrected).link_cost, 4);
  EXPECT_EQ(money(setup, {}, kCorrected).switch_cost, 0);
  setup.system.chips = setup.system.network[0].size = 1;
  EXPECT_EQ(money(setup, {}, kCorrected).link_cost, 0);
}

TEST(Money, CopiesAreBoughtWhole) {
  dataflow::Setup setup = machine({r, r});
  setup.prices.accelerator_price = 7;
  setup.prices.dram_price = 1;
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 3;
  setup.execution.workload = FourierTransform{.length = 64, .copies = 1};
  const double one = money(setup, {}, kCorrected).total_cost();
  EXPECT_DOUBLE_EQ(one, 8 * 7 + 8 * 3 + 16 + 12);
  setup.execution.workload = FourierTransform{.length = 64, .copies = 5};
  EXPECT_DOUBLE_EQ(money(setup, {}, kCorrected).total_cost(), 5 * one);
}

TEST(Money, SearchedSizesComeFromTheDegrees) {
  dataflow::Setup setup = machine({r, r});
  setup.system.network[0].size = setup.system.network[1].size = 0;
  EXPECT_EQ(money(setup, {.sizes = {2, 4}}, kCorrected).switch_cost_by_dimension, (std::vector<double>{8, 4}));
}

}  // namespace
}  // namespace orrery::dataflow
