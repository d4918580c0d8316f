#include "orrery/engines/nest/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/random_space_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;
using testing::random_instance;

std::vector<double> metrics(const Evaluation& evaluation, const std::vector<Metric>& objective) {
  const Key key = key_of(objective, evaluation);
  return {key.begin(), key.begin() + static_cast<std::ptrdiff_t>(objective.size())};
}

// Equal metrics but for the rounding of sums taken in another order; -1, 0, 1 as the first differing one says.
int compare(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] < b[k] * (1 - 1e-11)) return -1;
    if (a[k] > b[k] * (1 + 1e-11)) return 1;
  }
  return 0;
}

// Few enough mappings for brute force.
constexpr double kLargestSpace = 20000;

class SearchEqualsBruteForce : public ::testing::TestWithParam<std::vector<Metric>> {};

TEST_P(SearchEqualsBruteForce, OnRandomProblemsChipsAndConstraints) {
  const std::vector<Metric> objective = GetParam();
  int solved = 0, empty = 0;
  for (std::uint64_t seed = 0; solved < 700; ++seed) {
    Dice dice = Dice::from_seed(seed * 977 + objective.size());
    const Instance instance = random_instance(dice);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    if (space.size() > kLargestSpace) continue;
    std::vector<double> best;
    Evaluation evaluation;
    enumerate(instance.einsum, space, [&](const Mapping& mapping) {
      model.evaluate(mapping, evaluation);
      std::vector<double> values = metrics(evaluation, objective);
      if (best.empty() || compare(values, best) < 0) best = std::move(values);
      return true;
    });
    const Optimum found = optimize(model, instance.space, objective);
    if (best.empty()) {
      ++empty;
      ASSERT_TRUE(found.infeasible) << "seed " << seed;
      ASSERT_FALSE(found.mapping.has_value()) << "seed " << seed;
      continue;
    }
    ++solved;
    ASSERT_TRUE(found.mapping.has_value()) << "seed " << seed;
    ASSERT_TRUE(found.certificate.optimal) << "seed " << seed;
    EXPECT_TRUE(is_legal(instance.einsum, instance.chip, *found.mapping)) << "seed " << seed;
    EXPECT_TRUE(is_allowed(instance.einsum, instance.chip, *found.mapping, instance.space)) << "seed " << seed;
    ASSERT_EQ(compare(metrics(found.evaluation, objective), best), 0)
        << "seed " << seed << ": found " << metrics(found.evaluation, objective)[0] << ", best " << best[0];
    const Evaluation again = model.evaluate(*found.mapping);
    EXPECT_EQ(again.energy_pj, found.evaluation.energy_pj);
    EXPECT_EQ(again.cycles, found.evaluation.cycles);
  }
  EXPECT_GT(empty, 15);  // both kinds of answer were exercised
}

INSTANTIATE_TEST_SUITE_P(Objectives, SearchEqualsBruteForce, ::testing::ValuesIn(testing::objectives()));

}  // namespace
}  // namespace orrery::nest
