#include "orrery/nest/sliding.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "orrery/base/refused_test_util.h"
#include "orrery/nest/boxes.h"
#include "orrery/nest/random_nest_test_util.h"
#include "orrery/nest/simulation_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Simulation;

constexpr int kCasesPerDraw = 40;  // rapidcheck draws 100 seeds

// Where the reference's rules are set difference: each axis moves with one loop outside the tile, and when
// that loop starts again its first box is clear of its last.
bool rules_are_exact(const workload::Einsum& einsum, const Mapping& mapping, int i, int s) {
  std::vector<Count> extents(einsum.dimensions.size(), 1);
  for (int j = 0; j < i; ++j)
    for (std::size_t d = 0; d < extents.size(); ++d)
      extents[d] *= mapping.levels[j].temporal[d] * mapping.levels[j].spatial[d];
  for (const workload::Rank& rank : einsum.dataspaces[s].ranks) {
    Count side = 1;
    for (const auto& [d, coefficient] : rank.terms) side += coefficient * (extents[d] - 1);
    std::vector<Count> stride = extents;
    int movers = 0;
    bool restarts = false;
    Count reach = 0;
    for (int j = i; j < static_cast<int>(mapping.levels.size()); ++j) {
      for (std::size_t d = 0; d < stride.size(); ++d) stride[d] *= mapping.levels[j].spatial[d];
      for (const int d : mapping.levels[j].temporal_order) {
        const Count n = mapping.levels[j].temporal[d];
        if (n == 1) continue;
        if (movers > 0) restarts = true;
        for (const auto& [moved, coefficient] : rank.terms)
          if (moved == d) ++movers, reach = coefficient * stride[d] * (n - 1);
      }
      for (std::size_t d = 0; d < stride.size(); ++d) stride[d] *= mapping.levels[j].temporal[d];
    }
    if (movers > 1 || (restarts && reach < side)) return false;
  }
  return true;
}

void expect_equal(const Traffic& a, const Traffic& b, int levels, int dataspaces) {
  RC_ASSERT(a.compute_cycles == b.compute_cycles);
  RC_ASSERT(a.compute_instances == b.compute_instances);
  for (int i = 0; i < levels; ++i) {
    RC_ASSERT(a.fanout[i] == b.fanout[i]);
    RC_ASSERT(a.instances[i] == b.instances[i]);
    for (int s = 0; s < dataspaces; ++s) {
      RC_ASSERT(a.accesses[i][s] == b.accesses[i][s]);
      RC_ASSERT(a.deliveries[i][s] == b.deliveries[i][s]);
      RC_ASSERT(a.tile[i][s] == b.tile[i][s]);
      RC_ASSERT(a.partition[i][s] == b.partition[i][s]);
    }
  }
}

Traffic slide(const workload::Einsum& einsum, const Mapping& mapping, const std::vector<ReuseRules>& reuse = {}) {
  Traffic traffic;
  sliding(einsum, mapping, reuse, traffic);
  return traffic;
}

Traffic disjoint(const workload::Einsum& einsum, const Mapping& mapping, const std::vector<ReuseRules>& reuse = {}) {
  Traffic traffic;
  closed_form(einsum, shape_of(einsum), mapping, reuse, traffic);
  return traffic;
}

TEST(Sliding, EqualsTheClosedFormWhereNoTilesOverlap) {
  EXPECT_TRUE(rc::check("sliding == closed_form", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < kCasesPerDraw; ++repeat) {
      workload::Einsum einsum = testing::random_einsum(dice);
      for (workload::Dataspace& dataspace : einsum.dataspaces)
        for (workload::Rank& rank : dataspace.ranks)
          if (dice.once_in(10)) rank.terms[0].coefficient = dice(2, 3);
      const int levels = static_cast<int>(dice(2, 4));
      const Mapping mapping = testing::random_mapping(dice, einsum, levels);
      std::vector<ReuseRules> reuse;
      if (dice.once_in(4))
        for (int i = 0; i < levels; ++i)
          reuse.push_back({static_cast<std::uint32_t>(dice(0, 7)), static_cast<std::uint32_t>(dice(0, 7)), 0, 0});
      expect_equal(slide(einsum, mapping, reuse), disjoint(einsum, mapping, reuse), levels,
                   static_cast<int>(einsum.dataspaces.size()));
    }
  }));
}

TEST(Sliding, EqualsTheClosedFormOnMatmulsAndNormalisations) {
  EXPECT_TRUE(rc::check("sliding == closed_form", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < kCasesPerDraw; ++repeat) {
      const auto bound = [&] { return dice.pick({1, 2, 3, 12, 64, 768, 4096}); };
      const workload::Einsum einsum = dice.once_in(2) ? workload::matmul("layer", bound(), bound(), bound())
                                                      : workload::normalisation("layer", bound(), bound(), dice(1, 3));
      const int levels = static_cast<int>(dice(2, 4));
      const Mapping mapping = testing::random_mapping(dice, einsum, levels, true, 1024);
      expect_equal(slide(einsum, mapping), disjoint(einsum, mapping), levels, 3);
    }
  }));
}

TEST(Sliding, EqualsAWalkOverEveryIterationWhereTheRulesAreExact) {
  int exact_and_sliding = 0;
  EXPECT_TRUE(rc::check("sliding == explicit sets", [&] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    // Several a draw: not every nest slides where the rules are exact.
    for (int repeat = 0; repeat < 5; ++repeat) {
      workload::Einsum einsum = testing::random_convolution(dice);
      while (einsum.operations() > 600) einsum = testing::random_convolution(dice);
      const int levels = static_cast<int>(dice(2, 3));
      const Mapping mapping = testing::random_mapping(dice, einsum, levels, true, 6);
      const Traffic traffic = slide(einsum, mapping);
      const Traffic apart = disjoint(einsum, mapping);
      const Simulation simulation(einsum, mapping);
      for (int i = 0; i < levels; ++i)
        for (int s = 0; s < 3; ++s) {
          if (i > 0 && !rules_are_exact(einsum, mapping, i, s)) continue;
          const auto [accesses, deliveries] = simulation.between(i, i - 1, s);
          RC_ASSERT(traffic.accesses[i][s] == accesses);
          RC_ASSERT(traffic.deliveries[i][s] == deliveries);
          exact_and_sliding += accesses < apart.accesses[i][s];
        }
    }
  }));
  EXPECT_GT(exact_and_sliding, 20) << "too few cases in which tiles overlap";
}

// The reference's rules word by word: each loop's iterations 0 and 1, the box and the slide under way remembered.
struct ByTheRules {
  std::size_t ranks;
  Position sides;
  std::vector<Loop> loops;  // outermost first
  Position at{}, held{}, slide{};
  bool filled = false, sliding = false;

  Count words(std::size_t depth = 0) {
    if (depth == loops.size()) return bring();
    Count sum = words(depth + 1);
    for (std::size_t r = 0; r < ranks; ++r) at[r] += loops[depth].step[r];
    sum += (loops[depth].iterations - 1) * words(depth + 1);
    for (std::size_t r = 0; r < ranks; ++r) at[r] -= loops[depth].step[r];
    return sum;
  }

  Count bring() {
    Position moved{};
    for (std::size_t r = 0; r < ranks; ++r) moved[r] = at[r] - held[r];
    held = at;
    const Count box = volume(ranks, sides);
    if (!filled) return filled = true, box;
    if (moved == Position{}) return 0;
    if (sliding && moved != slide) return sliding = false, box;
    sliding = true, slide = moved;
    return newly_covered(ranks, sides, box, moved);
  }
};

TEST(Sliding, TheSumOverLoopsEqualsTheRulesWordByWord) {
  EXPECT_TRUE(rc::check("words_brought == rules", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < kCasesPerDraw; ++repeat) {
      const std::size_t ranks = static_cast<std::size_t>(dice(1, 3));
      Position sides{};
      for (std::size_t r = 0; r < ranks; ++r) sides[r] = dice(1, 5);
      std::vector<Loop> loops(static_cast<std::size_t>(dice(0, 6)));
      for (Loop& loop : loops) {
        loop.iterations = dice(2, 4);
        loop.step = {};
        if (!dice.once_in(4)) loop.step[static_cast<std::size_t>(dice(0, static_cast<Count>(ranks) - 1))] = dice(1, 6);
        if (dice.once_in(6)) loop.step[static_cast<std::size_t>(dice(0, static_cast<Count>(ranks) - 1))] = dice(1, 6);
      }
      RC_ASSERT(words_brought(ranks, sides, loops) == (ByTheRules{ranks, sides, loops}.words()));
    }
  }));
}

TEST(Sliding, NeverNeedsMoreThanTilesThatAreBroughtWhole) {
  EXPECT_TRUE(rc::check("sliding <= closed_form", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < kCasesPerDraw; ++repeat) {
      const workload::Einsum einsum = testing::random_convolution(dice);
      const Mapping mapping = testing::random_mapping(dice, einsum, 3);
      const Traffic some = slide(einsum, mapping), all = disjoint(einsum, mapping);
      for (int i = 0; i < 3; ++i)
        for (int s = 0; s < 3; ++s) {
          RC_ASSERT(some.accesses[i][s] <= all.accesses[i][s]);
          RC_ASSERT(some.deliveries[i][s] <= all.deliveries[i][s]);
          RC_ASSERT(some.tile[i][s] == all.tile[i][s]);
        }
    }
  }));
}

TEST(Sliding, BringsEveryWordAtLeastOnce) {
  EXPECT_TRUE(rc::check("accesses >= volume", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < kCasesPerDraw; ++repeat) {
      workload::Einsum einsum = testing::random_convolution(dice);
      for (workload::Rank& rank : einsum.dataspaces[1].ranks)  // without gaps between windows
        for (workload::Term& term : rank.terms) term.coefficient = 1;
      const Mapping mapping = testing::random_mapping(dice, einsum, 3);
      const Traffic traffic = slide(einsum, mapping);
      for (int i = 0; i < 3; ++i)
        for (int s = 0; s < 3; ++s) RC_ASSERT(traffic.accesses[i][s] * traffic.instances[i] >= traffic.tile[2][s]);
    }
  }));
}

TEST(Sliding, WithoutReuseEveryIterationBringsAWholeTileToEveryInstance) {
  EXPECT_TRUE(rc::check("no reuse", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    const workload::Einsum einsum = testing::random_convolution(dice);
    const Mapping mapping = testing::random_mapping(dice, einsum, 3);
    const Traffic traffic = slide(einsum, mapping, std::vector<ReuseRules>(3, ReuseRules{7, 7, 0, 0}));
    Count iterations = traffic.compute_cycles;
    for (int i = 0; i < 3; ++i) {
      for (int s = 0; s < 3; ++s) {
        const Count tile = i == 0 ? 1 : traffic.tile[i - 1][s];
        RC_ASSERT(traffic.accesses[i][s] == iterations * tile * traffic.fanout[i]);
        RC_ASSERT(traffic.deliveries[i][s] == traffic.accesses[i][s]);
      }
      for (const Count factor : mapping.levels[i].temporal) iterations /= factor;
    }
  }));
}

// Hand-worked: Outputs[L][Q][K] += Weights[R][S][K] * Inputs[R + L][S + Q].
struct Nest {
  enum { kR, kL, kS, kQ, kK };
  workload::Einsum einsum{"window",
                          {{"R", 1}, {"L", 1}, {"S", 1}, {"Q", 1}, {"K", 1}},
                          {{"Weights", {{{{kR, 1}}}, {{{kS, 1}}}, {{{kK, 1}}}}, false},
                           {"Inputs", {{{{kR, 1}, {kL, 1}}}, {{{kS, 1}, {kQ, 1}}}}, false},
                           {"Outputs", {{{{kL, 1}}}, {{{kQ, 1}}}, {{{kK, 1}}}}, true}}};
  Mapping mapping;

  explicit Nest(int levels = 3) {
    LevelMapping level;
    level.temporal = level.spatial = {1, 1, 1, 1, 1};
    level.temporal_order = level.spatial_order = {0, 1, 2, 3, 4};
    level.keep = 0b111;
    mapping.levels.assign(levels, level);
  }
  void temporal(int level, int d, Count n) { einsum.dimensions[d].bound *= mapping.levels[level].temporal[d] = n; }
  void spatial(int level, int d, Count n) { einsum.dimensions[d].bound *= mapping.levels[level].spatial[d] = n; }
  Count inputs(int level) const { return slide(einsum, mapping).accesses[level][1]; }
  Count inputs_simulated(int level) const { return Simulation(einsum, mapping).between(level, level - 1, 1).accesses; }
};

struct Window : ::testing::Test, Nest {};

TEST_F(Window, ASlideBringsOneColumnPerStep) {
  temporal(0, kR, 3);
  temporal(1, kL, 6);
  EXPECT_EQ(inputs(1), 3 + 5 * 1);
  EXPECT_EQ(slide(einsum, mapping).tile[0][1], 3);
  EXPECT_EQ(slide(einsum, mapping).tile[1][1], 8);
}

TEST_F(Window, AStrideBringsThatManyColumnsPerStep) {
  einsum.dataspaces[1].ranks[0].terms[1].coefficient = 2;
  temporal(0, kR, 3);
  temporal(1, kL, 6);
  EXPECT_EQ(inputs(1), 3 + 5 * 2);
  einsum.dataspaces[1].ranks[0].terms[1].coefficient = 4;  // beyond the window: nothing is shared
  EXPECT_EQ(inputs(1), 3 + 5 * 3);
}

TEST_F(Window, ADilatedWindowIsHeldAsTheBoxThatSpansIt) {
  einsum.dataspaces[1].ranks[0].terms[0].coefficient = 2;
  temporal(0, kR, 3);
  temporal(1, kL, 6);
  EXPECT_EQ(inputs(1), 5 + 5 * 1);
}

TEST_F(Window, ALoopThatDoesNotMoveTheTileBringsNothing) {
  temporal(0, kR, 3);
  temporal(1, kK, 7);  // inside L
  temporal(1, kL, 6);
  mapping.levels[1].temporal_order = {kK, kL, kR, kS, kQ};
  EXPECT_EQ(inputs(1), 8);
}

TEST_F(Window, AWindowThatJumpsBackIsBroughtWholeThoughSomeOfItIsThere) {
  temporal(0, kR, 3);
  temporal(1, kL, 3);
  temporal(1, kK, 2);
  EXPECT_EQ(inputs(1), 2 * (3 + 2 * 1));
  EXPECT_EQ(inputs_simulated(1), 9);  // column 2 is still there when L starts again
}

TEST_F(Window, AStepAlongTwoAxesBringsTheWholeTile) {
  temporal(0, kR, 3);
  temporal(0, kS, 3);
  temporal(1, kL, 2);
  temporal(1, kQ, 2);
  EXPECT_EQ(inputs(1), (9 + 3) + (9 + 3));
  EXPECT_EQ(inputs_simulated(1), (9 + 3) + (9 - 4 + 3));
}

TEST_F(Window, ADiagonalStepBringsTheWholeTile) {
  einsum.dataspaces[1].ranks[1].terms[1].dimension = kL;  // Inputs[R + L][S + L]
  temporal(0, kR, 3);
  temporal(0, kS, 3);
  temporal(1, kL, 4);
  EXPECT_EQ(inputs(1), 4 * 9);
  EXPECT_EQ(inputs_simulated(1), 9 + 3 * 5);
}

TEST_F(Window, ASlideThatAnOuterLevelContinuesIsSeenFromItsSecondStep) {
  temporal(0, kR, 3);
  temporal(1, kL, 3);
  temporal(2, kL, 2);
  EXPECT_EQ(inputs(1), 2 * (3 + 2 * 1));
  EXPECT_EQ(inputs_simulated(1), 8);
}

TEST_F(Window, ASlideOfTwoStepsContinuesAcrossLevels) {
  temporal(0, kR, 3);
  temporal(1, kL, 2);
  temporal(2, kL, 5);
  EXPECT_EQ(inputs(1), 3 + 9);
  EXPECT_EQ(inputs_simulated(1), 12);
}

TEST_F(Window, NeighboursThatShareAHaloAreFedSeparately) {
  temporal(0, kR, 3);
  spatial(1, kL, 4);
  EXPECT_EQ(inputs(1), 4 * 3);
  EXPECT_EQ(slide(einsum, mapping).deliveries[1][1], 4 * 3);
  EXPECT_EQ(slide(einsum, mapping).tile[1][1], 6);
}

TEST_F(Window, InstancesOnADiagonalShareOneAccess) {
  spatial(1, kR, 3);
  spatial(1, kL, 4);
  EXPECT_EQ(inputs(1), 6);  // R + L takes 6 values over 12 instances
  EXPECT_EQ(slide(einsum, mapping).deliveries[1][1], 12);
  EXPECT_EQ(slide(einsum, mapping).accesses[1][0], 3);  // Weights: one per R
}

TEST_F(Window, ComputeUnitsOnADiagonalShareOneAccessEachCycle) {
  spatial(0, kR, 3);
  spatial(0, kL, 4);
  temporal(0, kK, 5);
  EXPECT_EQ(inputs(0), 5 * 6);
  EXPECT_EQ(slide(einsum, mapping).deliveries[0][1], 5 * 12);
}

TEST_F(Window, TwoDiagonalsAreCountedTogether) {
  spatial(1, kR, 3);
  spatial(1, kL, 4);
  spatial(1, kS, 2);
  spatial(1, kQ, 2);
  spatial(1, kK, 3);
  EXPECT_EQ(inputs(1), 6 * 3);
  EXPECT_EQ(slide(einsum, mapping).deliveries[1][1], 12 * 4 * 3);
}

TEST(Sliding, NestsOfManyLoopsAreNotWalkedIterationByIteration) {
  Nest window(12);
  for (int i = 0; i < 12; ++i)
    for (const int d : {Nest::kR, Nest::kL, Nest::kS, Nest::kQ}) window.temporal(i, d, 2);
  const Traffic traffic = slide(window.einsum, window.mapping);  // 2^48 iterations
  EXPECT_EQ(traffic.compute_cycles, Count{1} << 48);
  EXPECT_EQ(traffic.accesses[0][1], Count{1} << 48);
  EXPECT_GE(traffic.accesses[11][1], traffic.tile[11][1]);
}

TEST(Sliding, MoreRanksThanThereIsRoomForIsAMessage) {
  Nest window;
  window.temporal(1, Nest::kL, 2);
  window.einsum.dataspaces[1].ranks.assign(17, workload::Rank{{{Nest::kL, 1}}});
  EXPECT_EQ(base::refused([&] { slide(window.einsum, window.mapping); }).at(0).code, "O1010");
}

}  // namespace
}  // namespace orrery::nest
