#include "orrery/engines/nest/search/relaxed/partial_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/random_space_test_util.h"

namespace orrery::nest {
namespace {

using testing::Dice;

// `mapping` with only what the bound is told of it.
Mapping cut_off(const workload::Einsum& einsum, const Mapping& mapping, int level) {
  Mapping partial = mapping;
  for (int i = 0; i <= level; ++i) {
    LevelMapping& here = partial.levels[i];
    std::fill(here.spatial.begin(), here.spatial.end(), 1);
    std::fill(here.temporal.begin(), here.temporal.end(), 1);
    if (i < level) here.keep = 0;
  }
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) {
    base::Count outside = 1;
    for (std::size_t i = static_cast<std::size_t>(level) + 1; i < mapping.levels.size(); ++i)
      outside *= mapping.levels[i].temporal[d] * mapping.levels[i].spatial[d];
    partial.levels[level].temporal[d] = einsum.dimensions[d].bound / outside;
  }
  return partial;
}

TEST(PartialBound, NoCompletionIsBelowIt) {
  int compared = 0, close = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    testing::Instance instance;
    instance.einsum = dice.once_in(3) ? testing::random_einsum(dice, 12) : testing::random_convolution(dice);
    instance.chip = testing::random_chip(dice);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    if (dice.once_in(2)) instance.options = ModelOptions::timeloop();
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Mapspace any;
    const Space space(instance.einsum, instance.chip, any, model.shape());
    PartialBound bound(model, space);
    for (int k = 0; k < 5; ++k) {
      const Mapping mapping = testing::random_legal_mapping(dice, instance.einsum, instance.chip);
      for (const Metric metric : {Metric::kEdp, Metric::kEnergy, Metric::kDelay}) {
        const double cost = key_of({metric}, model.evaluate(mapping))[0];
        ASSERT_LE(bound.least({metric})[0], cost * (1 + 1e-11)) << "seed " << seed << " mapping " << k;
        for (int level = 0; level < space.levels(); ++level) {
          const double least = bound.least(cut_off(instance.einsum, mapping, level), level, {metric})[0];
          ASSERT_LE(least, cost * (1 + 1e-11)) << "seed " << seed << " mapping " << k << " level " << level;
          ++compared;
          close += least > 0.5 * cost;
        }
      }
    }
  }
  EXPECT_GT(close, compared / 10) << "a bound of nothing holds always";
}

}  // namespace
}  // namespace orrery::nest
