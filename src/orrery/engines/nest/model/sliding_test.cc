#include "orrery/engines/nest/model/sliding.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/nest/model/boxes.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/engines/nest/model/simulation_test_util.h"

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

Traffic slide(const workload::Einsum& einsum, const Mapping& mapping, const std::vector<ReuseRules>& reuse = {}) {
  Traffic traffic;
  sliding(einsum, shape_of(einsum), mapping, reuse, traffic);
  return traffic;
}

Traffic disjoint(const workload::Einsum& einsum, const Mapping& mapping, const std::vector<ReuseRules>& reuse = {}) {
  Traffic traffic;
  closed_form(einsum, shape_of(einsum), mapping, reuse, traffic);
  return traffic;
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

// What crosses into level `below`, word by word: loops seen through their iterations 0 and 1, boxes from the corners of
// what they span, instances one by one.
class NestByTheRules {
 public:
  NestByTheRules(const workload::Einsum& einsum, const Mapping& mapping, int below, int s)
      : dataspace_(einsum.dataspaces[s]), spans_(einsum.dimensions.size(), 1), at_(einsum.dimensions.size(), 0) {
    for (int j = 0; j <= below; ++j)
      for (std::size_t d = 0; d < spans_.size(); ++d)
        spans_[d] *= mapping.levels[j].spatial[d] * mapping.levels[j].temporal[d];
    std::vector<Count> stride = spans_;
    corners_.insert(corner());
    for (std::size_t d = 0; d < spans_.size(); ++d) {
      std::set<std::vector<Count>> all;
      for (Count index = 0; index < mapping.levels[below + 1].spatial[d]; ++index)
        for (std::vector<Count> moved : corners_) {
          for (std::size_t r = 0; r < moved.size(); ++r)
            for (const auto& [moving, coefficient] : dataspace_.ranks[r].terms)
              if (moving == static_cast<int>(d)) moved[r] += coefficient * stride[d] * index;
          all.insert(std::move(moved));
        }
      corners_ = std::move(all);
    }
    for (int j = below + 1; j < static_cast<int>(mapping.levels.size()); ++j) {
      for (std::size_t d = 0; d < stride.size(); ++d) stride[d] *= mapping.levels[j].spatial[d];
      for (const int d : mapping.levels[j].temporal_order)
        loops_.insert(loops_.begin(), {d, mapping.levels[j].temporal[d], stride[d]});
      for (std::size_t d = 0; d < stride.size(); ++d) stride[d] *= mapping.levels[j].temporal[d];
    }
  }

  Count accesses() { return run(0) * static_cast<Count>(corners_.size()); }

 private:
  struct Nested {
    int dimension;
    Count iterations, stride;
  };

  std::vector<Count> corner() const {
    std::vector<Count> low;
    for (const workload::Rank& rank : dataspace_.ranks) {
      low.push_back(0);
      for (const auto& [d, coefficient] : rank.terms) low.back() += coefficient * at_[d];
    }
    return low;
  }

  Count run(std::size_t depth) {
    if (depth == loops_.size()) return bring();
    const auto [d, iterations, stride] = loops_[depth];
    Count words = run(depth + 1);
    if (iterations == 1) return words;
    at_[d] += stride;
    words += (iterations - 1) * run(depth + 1);
    at_[d] -= stride;
    return words;
  }

  Count bring() {
    Count box = 1, fresh = 1;
    std::vector<Count> sides, moved = corner();
    for (const workload::Rank& rank : dataspace_.ranks) {
      sides.push_back(1);
      for (const auto& [d, coefficient] : rank.terms) sides.back() += coefficient * (spans_[d] - 1);
      box *= sides.back();
    }
    const bool first = held_.empty();
    const std::vector<Count> before = std::exchange(held_, moved);
    if (first) return box;
    int axes = 0;
    for (std::size_t r = 0; r < moved.size(); ++r) {
      moved[r] -= before[r];
      axes += moved[r] != 0;
      fresh *= moved[r] == 0 ? sides[r] : std::min(std::abs(moved[r]), sides[r]);
    }
    if (axes == 0) return 0;
    if (!slide_.empty() && slide_ != moved) return slide_.clear(), box;
    slide_ = moved;
    return axes == 1 ? fresh : box;
  }

  const workload::Dataspace& dataspace_;
  std::vector<Count> spans_, at_, held_, slide_;
  std::set<std::vector<Count>> corners_;
  std::vector<Nested> loops_;  // outermost first
};

TEST(Sliding, EveryKindOfConvolutionEqualsTheRulesFollowedStepByStep) {
  int overlapping = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_window(dice);
    const int levels = static_cast<int>(dice(2, 4));
    const Mapping mapping = testing::random_mapping(dice, einsum, levels, true, 12);
    const Traffic traffic = slide(einsum, mapping), apart = disjoint(einsum, mapping);
    for (int i = 1; i < levels; ++i)
      for (int s = 0; s < 3; ++s) {
        ASSERT_EQ(traffic.accesses[i][s], NestByTheRules(einsum, mapping, i - 1, s).accesses())
            << "seed " << seed << " level " << i << " dataspace " << s;
        overlapping += traffic.accesses[i][s] < apart.accesses[i][s];
      }
  }
  EXPECT_GT(overlapping, 1000);
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

struct SlidingWindow : ::testing::Test, Nest {};

TEST_F(SlidingWindow, ASlideBringsOneColumnPerStep) {
  temporal(0, kR, 3);
  temporal(1, kL, 6);
  EXPECT_EQ(inputs(1), 3 + 5 * 1);
  EXPECT_EQ(slide(einsum, mapping).tile[0][1], 3);
  EXPECT_EQ(slide(einsum, mapping).tile[1][1], 8);
}

TEST_F(SlidingWindow, AStrideBringsThatManyColumnsPerStep) {
  einsum.dataspaces[1].ranks[0].terms[1].coefficient = 2;
  temporal(0, kR, 3);
  temporal(1, kL, 6);
  EXPECT_EQ(inputs(1), 3 + 5 * 2);
  einsum.dataspaces[1].ranks[0].terms[1].coefficient = 4;  // beyond the window: nothing is shared
  EXPECT_EQ(inputs(1), 3 + 5 * 3);
}

TEST_F(SlidingWindow, ADilatedWindowIsHeldAsTheBoxThatSpansIt) {
  einsum.dataspaces[1].ranks[0].terms[0].coefficient = 2;
  temporal(0, kR, 3);
  temporal(1, kL, 6);
  EXPECT_EQ(inputs(1), 5 + 5 * 1);
}

TEST_F(SlidingWindow, ALoopThatDoesNotMoveTheTileBringsNothing) {
  temporal(0, kR, 3);
  temporal(1, kK, 7);  // inside L
  temporal(1, kL, 6);
  mapping.levels[1].temporal_order = {kK, kL, kR, kS, kQ};
  EXPECT_EQ(inputs(1), 8);
}

TEST_F(SlidingWindow, AWindowThatJumpsBackIsBroughtWholeThoughSomeOfItIsThere) {
  temporal(0, kR, 3);
  temporal(1, kL, 3);
  temporal(1, kK, 2);
  EXPECT_EQ(inputs(1), 2 * (3 + 2 * 1));
  EXPECT_EQ(inputs_simulated(1), 9);  // column 2 is still there when L starts again
}

TEST_F(SlidingWindow, AStepAlongTwoAxesBringsTheWholeTile) {
  temporal(0, kR, 3);
  temporal(0, kS, 3);
  temporal(1, kL, 2);
  temporal(1, kQ, 2);
  EXPECT_EQ(inputs(1), (9 + 3) + (9 + 3));
  EXPECT_EQ(inputs_simulated(1), (9 + 3) + (9 - 4 + 3));
}

TEST_F(SlidingWindow, ADiagonalStepBringsTheWholeTile) {
  einsum.dataspaces[1].ranks[1].terms[1].dimension = kL;  // Inputs[R + L][S + L]
  temporal(0, kR, 3);
  temporal(0, kS, 3);
  temporal(1, kL, 4);
  EXPECT_EQ(inputs(1), 4 * 9);
  EXPECT_EQ(inputs_simulated(1), 9 + 3 * 5);
}

TEST_F(SlidingWindow, ASlideThatAnOuterLevelContinuesIsSeenFromItsSecondStep) {
  temporal(0, kR, 3);
  temporal(1, kL, 3);
  temporal(2, kL, 2);
  EXPECT_EQ(inputs(1), 2 * (3 + 2 * 1));
  EXPECT_EQ(inputs_simulated(1), 8);
}

TEST_F(SlidingWindow, ASlideOfTwoStepsContinuesAcrossLevels) {
  temporal(0, kR, 3);
  temporal(1, kL, 2);
  temporal(2, kL, 5);
  EXPECT_EQ(inputs(1), 3 + 9);
  EXPECT_EQ(inputs_simulated(1), 12);
}

TEST_F(SlidingWindow, NeighboursThatShareAHaloAreFedSeparately) {
  temporal(0, kR, 3);
  spatial(1, kL, 4);
  EXPECT_EQ(inputs(1), 4 * 3);
  EXPECT_EQ(slide(einsum, mapping).deliveries[1][1], 4 * 3);
  EXPECT_EQ(slide(einsum, mapping).tile[1][1], 6);
}

TEST_F(SlidingWindow, InstancesOnADiagonalShareOneAccess) {
  spatial(1, kR, 3);
  spatial(1, kL, 4);
  EXPECT_EQ(inputs(1), 6);  // R + L takes 6 values over 12 instances
  EXPECT_EQ(slide(einsum, mapping).deliveries[1][1], 12);
  EXPECT_EQ(slide(einsum, mapping).accesses[1][0], 3);  // Weights: one per R
}

TEST_F(SlidingWindow, ComputeUnitsOnADiagonalShareOneAccessEachCycle) {
  spatial(0, kR, 3);
  spatial(0, kL, 4);
  temporal(0, kK, 5);
  EXPECT_EQ(inputs(0), 5 * 6);
  EXPECT_EQ(slide(einsum, mapping).deliveries[0][1], 5 * 12);
}

TEST_F(SlidingWindow, TwoDiagonalsAreCountedTogether) {
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
  window.temporal(0, Nest::kR, 2);
  window.einsum.dataspaces[1].ranks.assign(17, workload::Rank{{{Nest::kL, 1}, {Nest::kR, 1}}});
  EXPECT_EQ(base::refused([&] { slide(window.einsum, window.mapping); }).at(0).code, "O1010");
}

}  // namespace
}  // namespace orrery::nest
