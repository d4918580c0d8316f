// What a slide is spared further out, against every split and order of the loops that are left.
#include "orrery/engines/nest/search/tiles/tile_slides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/model/boxes.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"

namespace orrery::nest::tiles {
namespace {

using nest::testing::Dice;

constexpr int kTileSlidesInputs = 1, kLevel = 1;

workload::Einsum window(Dice& dice) {
  workload::Einsum einsum;
  einsum.name = "window";
  einsum.dimensions = {{"R", dice.pick({2, 3, 4})}, {"L", dice.pick({4, 6, 8, 12})}};
  einsum.dataspaces = {{"Weights", {{{{0, 1}}}}, false},
                       {"Inputs", {{{{0, dice(1, 3)}, {1, dice(1, 3)}}}}, false},
                       {"Outputs", {{{{1, 1}}}}, true}};
  return einsum;
}

// Least words over all that levels from `level` on may do, `loops` (innermost first) being done.
double least_of_all(const Prices& prices, const Position& sides, int level, std::uint32_t placed, const Factors& inside,
                    std::vector<Loop>& loops) {
  const Problem& problem = prices.problem();
  const Axis& axis = problem.dataspaces[kTileSlidesInputs].axes[0];
  if (level == problem.levels) {
    for (const workload::Term& term : axis.terms)
      if (inside[term.dimension] != prices.left(term.dimension)) return std::numeric_limits<double>::infinity();
    std::vector<Loop> outermost_first(loops.rbegin(), loops.rend());
    return static_cast<double>(words_brought(1, sides, outermost_first));
  }
  double least = least_of_all(prices, sides, level + 1, 0, inside, loops);
  for (const workload::Term& term : axis.terms) {
    const int d = term.dimension;
    if (placed >> d & 1) continue;
    for (const Count n : base::divisors(prices.left(d) / inside[d])) {
      if (n == 1) continue;
      Position step{};
      step[0] = term.coefficient * inside[d] * prices.spread(level, d);
      loops.push_back({n, step});
      Factors next = inside;
      next[d] *= n;
      least = std::min(least, least_of_all(prices, sides, level, placed | 1u << d, next, loops));
      loops.pop_back();
    }
  }
  return least;
}

TEST(Slides, TheLeastOverAllLoopsFurtherOutIsWhatIsCounted) {
  int drawn = 0, spared_some = 0;
  for (std::uint64_t seed = 0; drawn < 1000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = window(dice);
    const machine::Chip chip = nest::testing::random_chip(dice, {4, 4});
    const Model model(einsum, chip);
    const Space space(einsum, chip, {}, model.shape());
    const std::optional<Problem> problem = describe(model, space);
    ASSERT_TRUE(problem);
    Config config;
    for (int level = 0; level < problem->levels; ++level) {
      config.choice.push_back(static_cast<int>(dice(0, static_cast<Count>(space.spatial(level).size()) - 1)));
      config.keep.push_back(7);
    }
    const Prices prices(*problem, config);
    if (!prices.possible()) continue;
    Factors inside, loops;
    inside.fill(1), loops.fill(1);
    for (int d = 0; d < 2; ++d) {
      const std::vector<Count> tiles = base::divisors(prices.left(d));
      inside[d] = tiles[dice(0, static_cast<Count>(tiles.size()) - 1)];
      const std::vector<Count> factors = base::divisors(prices.left(d) / inside[d]);
      loops[d] = factors[dice(0, static_cast<Count>(factors.size()) - 1)];
    }
    Step step;
    step.first.fill(-1), step.second.fill(-1);
    step.first[kTileSlidesInputs] = static_cast<std::int8_t>(dice(0, 1));
    step.second[kTileSlidesInputs] = static_cast<std::int8_t>(1 - step.first[kTileSlidesInputs]);
    if (loops[0] == 1 && loops[1] == 1) continue;
    ++drawn;
    const double spared = spared_further(prices, kTileSlidesInputs, 0, kLevel, inside, step, loops);
    const double counted = words_crossing(prices, kTileSlidesInputs, 0, kLevel, inside, step, loops, spared);
    Position sides{};
    sides[0] = 1;
    Factors after = inside;
    std::vector<Loop> done;
    const Axis& axis = problem->dataspaces[kTileSlidesInputs].axes[0];
    for (const workload::Term& term : axis.terms)
      sides[0] += term.coefficient * (inside[term.dimension] * prices.spread(0, term.dimension) - 1);
    for (const int d : {int{step.first[kTileSlidesInputs]}, int{step.second[kTileSlidesInputs]}}) {
      if (loops[d] == 1) continue;
      Position by{};
      by[0] = axis.terms[axis.terms[0].dimension == d ? 0 : 1].coefficient * inside[d] * prices.spread(kLevel, d);
      done.push_back({loops[d], by});
      after[d] *= loops[d];
    }
    const double least = least_of_all(prices, sides, kLevel + 1, 0, after, done);
    EXPECT_NEAR(counted, least, 1e-9 * least) << "seed " << seed;
    spared_some += spared > 0;
  }
  EXPECT_GT(spared_some, 50);
}

}  // namespace
}  // namespace orrery::nest::tiles
