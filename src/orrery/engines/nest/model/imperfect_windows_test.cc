#include "orrery/engines/nest/model/imperfect_windows.h"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "orrery/engines/nest/model/imperfect_simulation_test_util.h"
#include "orrery/engines/nest/model/imperfect_windows_simulation_test_util.h"
#include "orrery/engines/nest/model/model.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::ImperfectWindowsSimulation;

int problems(int unless_asked_otherwise) {
  const char* wanted = std::getenv("ORRERY_IMPERFECT_WINDOWS_PROBLEMS");
  return wanted ? std::atoi(wanted) : unless_asked_otherwise;
}

workload::Einsum any_window(Dice& dice) {
  while (true) {
    workload::Einsum einsum = testing::random_window(dice);
    for (workload::Dimension& dimension : einsum.dimensions)
      if (dice.once_in(2)) dimension.bound = dice(1, 7);
    if (einsum.operations() <= 250 && shape_of(einsum).sliding) return einsum;
  }
}

std::vector<ReuseRules> any_rules_of_windows(Dice& dice, int storages) {
  if (!dice.once_in(4)) return {};
  std::vector<ReuseRules> rules(storages);
  for (ReuseRules& rule : rules)
    for (std::uint32_t* mask : {&rule.no_temporal_reuse, &rule.no_spatial_sharing})
      if (dice.once_in(3)) *mask = static_cast<std::uint32_t>(dice(0, 7));
  return rules;
}

TEST(ImperfectWindows, EqualsAWalkOverEveryStepOfEveryInstance) {
  int imperfect = 0, shorter = 0;
  for (int seed = 0; seed < problems(3'000); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const workload::Einsum einsum = any_window(dice);
    const int storages = static_cast<int>(dice(1, 3));
    const Mapping mapping = testing::random_imperfect_mapping(dice, einsum, storages, dice.once_in(2));
    if (perfect(mapping)) continue;
    ++imperfect;
    const std::vector<ReuseRules> rules = any_rules_of_windows(dice, storages);
    const Shape shape = shape_of(einsum);
    ImperfectTraffic traffic;
    imperfect_traffic(einsum, shape, mapping, rules, true, traffic);
    for (int s = 0; s < static_cast<int>(einsum.dataspaces.size()); ++s) {
      if (shape.separable[s]) continue;
      std::uint32_t alone = 0;
      for (int i = 0; i < storages && !rules.empty(); ++i) alone |= (rules[i].no_spatial_sharing >> s & 1) << i;
      ImperfectWindowsSimulation walk(einsum, mapping, s);
      int inner = -1, outermost = -1;
      for (int i = 0; i < storages; ++i)
        if (mapping.levels[i].keep >> s & 1) outermost = i;
      for (int i = 0; i <= outermost; ++i) {
        const auto compare = [&](int keeper, int server, const LevelTable<double>& mean,
                                 const LevelTable<double>& busiest) {
          const bool every_step = keeper < 0 || (!rules.empty() && (rules[keeper].no_temporal_reuse >> s & 1));
          Count all = 0, most = 0;
          for (const auto& [instance, words] : walk.brought(keeper, server, every_step, alone)) {
            all += words;
            most = std::max(most, words);
          }
          ASSERT_EQ(std::llround(mean[server][s] * static_cast<double>(traffic.instances[server])), all)
              << "seed " << seed << " from level " << server << " to " << keeper << " dataspace " << s;
          ASSERT_EQ(std::llround(busiest[server][s]), most)
              << "seed " << seed << " from level " << server << " to " << keeper << " dataspace " << s;
        };
        compare(inner, i, traffic.mean.content, traffic.busiest.content);
        if (HasFatalFailure()) return;
        if (!(mapping.levels[i].keep >> s & 1)) continue;
        inner = i;
        if (i == outermost) continue;
        compare(i, i, traffic.mean.share, traffic.busiest.share);
        if (HasFatalFailure()) return;
        shorter += traffic.mean.share[i][s] < traffic.busiest.share[i][s];
      }
    }
  }
  EXPECT_GT(imperfect, problems(3'000) / 2);
  EXPECT_GT(shorter, problems(3'000) / 30) << "too few instances that do less than others";
}

// Evaluated by either account, a mapping without remainders costs the same.
TEST(ImperfectWindows, WithoutRestsItIsTheSumOverLoops) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_window(dice);
    testing::ChipChoices choices;
    choices.networks = false;  // the one account rounds down how many instances a word reaches
    const machine::Chip chip = testing::random_chip(dice, choices);
    const int storages = static_cast<int>(chip.storages.size());
    Mapping mapping = testing::random_mapping(dice, einsum, storages, dice.once_in(2));
    const std::vector<ReuseRules> rules = any_rules_of_windows(dice, storages);
    const Evaluation whole = evaluate(einsum, chip, mapping, {}, rules);
    // Last rounds that say what the factors say: not perfect to the letter.
    for (LevelMapping& level : mapping.levels) level.temporal_last = level.temporal, level.spatial_last = level.spatial;
    ASSERT_FALSE(perfect(mapping));
    const Evaluation counted = evaluate(einsum, chip, mapping, {}, rules);
    const Shape shape = shape_of(einsum);
    for (int i = 0; i < storages; ++i)
      for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
        const DataspaceCost& a = whole.storages[i].dataspaces[s];
        const DataspaceCost& b = counted.storages[i].dataspaces[s];
        ASSERT_EQ(a.tile_words, b.tile_words) << "seed " << seed;
        ASSERT_EQ(a.updates, b.updates) << "seed " << seed << " level " << i << " dataspace " << s;
        // Of outputs that are stretched or overlap, what an instance sees is told from its tiles by the one account
        // only.
        if (einsum.dataspaces[s].read_write && !shape.product_form[s]) continue;
        ASSERT_EQ(a.reads, b.reads) << "seed " << seed << " level " << i << " dataspace " << s;
        ASSERT_EQ(a.fills, b.fills) << "seed " << seed << " level " << i << " dataspace " << s;
      }
    if (!shape.product_form[2]) continue;
    ++compared;
    ASSERT_EQ(whole.cycles, counted.cycles) << "seed " << seed;
    ASSERT_NEAR(whole.energy_pj, counted.energy_pj, 1e-9 * (1 + whole.energy_pj)) << "seed " << seed;
  }
  EXPECT_GT(compared, 1'500);
}

// A window of R = 3 over ten outputs, four at a time: 4 + 4 + 2 of them.
struct Window {
  workload::Einsum einsum;
  machine::Chip chip;
  Mapping mapping;

  explicit Window(Count stride = 1) {
    einsum.name = "window";
    einsum.dimensions = {{"R", 3}, {"P", 10}};
    einsum.dataspaces = {{"Inputs", {{{{0, 1}, {1, stride}}}}, false}, {"Outputs", {{{{1, 1}}}}, true}};
    chip.storages.resize(2);
    LevelMapping level;
    level.temporal = level.spatial = {1, 1};
    level.temporal_order = level.spatial_order = {0, 1};
    level.keep = 0b11;
    mapping.levels = {level, level};
  }
  Count fills() {
    EXPECT_TRUE(complete(mapping, {3, 10}));
    return evaluate(einsum, chip, mapping).storages[0].dataspaces[0].fills;
  }
};

TEST(ImperfectWindows, TheLastTileOfASlideBringsWhatIsLeft) {
  Window window;
  window.mapping.levels[0].temporal = {3, 4};
  window.mapping.levels[1].temporal = {1, 3};
  EXPECT_EQ(window.fills(), 6 + 4 + 2) << "tiles of 6, 6 and 4 words, two of them shared each time";
  Window stretched(4);
  stretched.mapping = window.mapping;
  EXPECT_EQ(stretched.fills(), 15 + 15 + 7) << "tiles of 15, 15 and 7 words, an unused one between";
}

TEST(ImperfectWindows, AnInstanceAtTheEdgeHoldsASmallerTile) {
  Window window;
  window.mapping.levels[0].temporal = {3, 4};
  window.mapping.levels[1].spatial = {1, 3};
  ASSERT_TRUE(complete(window.mapping, {3, 10}));
  const Evaluation evaluation = evaluate(window.einsum, window.chip, window.mapping);
  EXPECT_EQ(evaluation.storages[1].dataspaces[0].reads, 6 + 6 + 4) << "halos are read twice";
  EXPECT_EQ(evaluation.storages[0].dataspaces[0].fills, 5) << "16 / 3 in the mean";
  EXPECT_EQ(evaluation.compute.cycles, 12);
}

TEST(ImperfectWindows, ALoopThatJumpsBackOverALastRoundBringsTheWholeTile) {
  // R outside P: the second and the third round begin again at the first tile.
  Window window;
  window.mapping.levels[0].temporal = {1, 4};
  window.mapping.levels[1].temporal = {3, 3};
  window.mapping.levels[1].temporal_order = {1, 0};
  EXPECT_EQ(window.fills(), 3 * (4 + 4 + 2));
}

}  // namespace
}  // namespace orrery::nest
