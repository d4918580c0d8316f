#include "orrery/engines/nest/search/gap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "orrery/engines/nest/search/random_space_test_util.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest {
namespace {

using testing::Dice;
using Reports = std::vector<std::pair<double, double>>;  // best, lower bound

SearchLimits recorded(Reports& into, double interval_seconds) {
  SearchLimits limits;
  limits.progress_seconds = interval_seconds;
  limits.progress = [&into](double best, double lower_bound) { into.emplace_back(best, lower_bound); };
  return limits;
}

TEST(GapWatch, WhatIsShownNeverGetsWorseWhateverIsReported) {
  Reports shown;
  const SearchLimits limits = recorded(shown, 0);
  GapWatch watch(limits);
  watch.report(10, 4);
  watch.report(12, 6);
  watch.report(8, 3);
  EXPECT_EQ(shown, (Reports{{10, 4}, {10, 6}, {8, 6}}));
}

TEST(GapWatch, ABoundIsNeverShownAboveTheBest) {
  Reports shown;
  const SearchLimits limits = recorded(shown, 0);
  GapWatch watch(limits);
  watch.report(10, 10.0000001);
  EXPECT_EQ(shown, (Reports{{10, 10}}));
}

TEST(GapWatch, ReportsWithinTheIntervalAreGatheredNotShown) {
  Reports shown;
  const SearchLimits limits = recorded(shown, 3600);
  GapWatch watch(limits);
  for (int k = 0; k < 1000; ++k) watch.report(1000 - k, k);
  EXPECT_EQ(shown, (Reports{{1000, 0}}));
}

TEST(GapWatch, DoesNothingWhereNobodyListens) {
  GapWatch watch{SearchLimits{}};
  EXPECT_FALSE(watch.watched());
  watch.report(1, 1);
}

// Branch and bound, on one thread and on three, and the lattice search.
TEST(Gap, NeverGrowsDuringASearchAndEndsAtTheAnswer) {
  std::size_t seen = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Dice dice = Dice::from_seed(seed * 7919 + 5);
    const testing::Instance instance = testing::random_instance(dice);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    Reports shown;
    SearchRules limits{recorded(shown, 0)};
    limits.lattice = seed % 3 == 0;
    limits.dominance = false;
    limits.threads = seed % 3 == 1 ? 3 : 1;
    const Optimum found = optimize(model, instance.space, {Metric::kEdp}, limits);
    if (!found.mapping) continue;
    ASSERT_TRUE(found.certificate.optimal);
    double best = INFINITY, bound = 0;
    for (const auto& [shown_best, shown_bound] : shown) {
      EXPECT_LE(shown_best, best) << "seed " << seed;
      EXPECT_GE(shown_bound, bound) << "seed " << seed;
      EXPECT_LE(shown_bound, found.evaluation.edp_j_cycles * (1 + 1e-11)) << "seed " << seed;
      EXPECT_GE(shown_best, found.evaluation.edp_j_cycles * (1 - 1e-11)) << "seed " << seed;
      best = shown_best;
      bound = shown_bound;
    }
    seen += shown.size();
  }
  EXPECT_GT(seen, 100u);
}

}  // namespace
}  // namespace orrery::nest
