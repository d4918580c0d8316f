#include "orrery/engines/nest/search/lattice/lattice.h"

#include <gtest/gtest.h>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/random_space_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;

// Matrix products with free bypass and splits, temporal factors free or fixed to 1 above the innermost level.
Instance random_product(Dice& dice, Count largest) {
  Instance instance;
  const auto bound = [&] { return std::min<Count>(largest, dice.pick({1, 2, 4, 6, 8, 12, 16, 18, 24})); };
  instance.einsum = workload::matmul("product", bound(), bound(), bound());
  instance.chip = testing::random_chip(dice);
  const int levels = static_cast<int>(instance.chip.storages.size());
  for (int level = 0; level < levels; ++level)
    for (int d = 0; d < 3; ++d) {
      const bool fixed = dice.once_in(5);
      if (fixed || (level == 0 && dice.once_in(3))) {
        Constraint constraint;
        constraint.level = level;
        constraint.dimension = d;
        const auto divisors = base::divisors(instance.einsum.dimensions[d].bound);
        constraint.value = level > 0 ? 1 : divisors[dice(0, static_cast<Count>(divisors.size()) - 1)];
        constraint.comparison = level > 0 ? Comparison::kEqual : static_cast<Comparison>(dice(0, 2));
        instance.space.constraints.push_back(constraint);
      }
      if (dice.once_in(5)) {
        Constraint constraint;
        constraint.level = level;
        constraint.spatial = true;
        constraint.dimension = d;
        constraint.value = dice.pick({1, 2, 4});
        constraint.comparison = dice.once_in(3) ? Comparison::kEqual : Comparison::kAtMost;
        instance.space.constraints.push_back(constraint);
      }
    }
  for (int level = 0; level < levels; ++level)
    for (int s = 0; s < 3; ++s) {
      const bool outermost = level + 1 == levels;
      if (!outermost && !dice.once_in(3)) continue;
      Constraint constraint;
      constraint.kind = Constraint::Kind::kKeep;
      constraint.level = level;
      constraint.dataspace = s;
      constraint.keep = outermost ? !dice.once_in(10) : dice(0, 1) == 1;
      instance.space.constraints.push_back(constraint);
    }
  if (dice.once_in(3)) instance.options = testing::random_original(dice);
  return instance;
}

std::vector<double> metrics(const Evaluation& evaluation, const std::vector<Metric>& objective) {
  const Key key = key_of(objective, evaluation);
  return {key.begin(), key.begin() + static_cast<std::ptrdiff_t>(objective.size())};
}

void expect_equal(const std::vector<double>& a, const std::vector<double>& b, std::uint64_t seed) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_NEAR(a[k], b[k], 1e-11 * b[k]) << "seed " << seed << ", metric " << k;
  }
}

// However few there are.
SearchRules keeps_together() {
  SearchRules rules;
  rules.few_keeps = 0;
  return rules;
}

class LatticeEquals : public ::testing::TestWithParam<std::vector<Metric>> {};

TEST_P(LatticeEquals, BranchAndBoundOnRandomProducts) {
  const std::vector<Metric> objective = GetParam();
  int applied = 0, empty = 0;
  for (std::uint64_t seed = 0; applied < 400; ++seed) {
    Dice dice = Dice::from_seed(seed * 6151 + objective.size());
    const Instance instance = random_product(dice, 8);
    const Model model(instance.einsum, instance.chip, instance.options);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    const std::optional<Optimum> found = optimize_on_lattice(model, space, objective, {}, {});
    if (!found) continue;
    ++applied;
    SearchRules limits;
    limits.lattice = false;
    const Optimum expected = optimize(model, instance.space, objective, limits);
    ASSERT_EQ(found->mapping.has_value(), expected.mapping.has_value()) << "seed " << seed;
    if (!expected.mapping) {
      ++empty;
      continue;
    }
    EXPECT_TRUE(is_legal(instance.einsum, instance.chip, *found->mapping)) << "seed " << seed;
    EXPECT_TRUE(is_allowed(instance.einsum, instance.chip, *found->mapping, instance.space)) << "seed " << seed;
    expect_equal(metrics(found->evaluation, objective), metrics(expected.evaluation, objective), seed);
    const std::optional<Optimum> together = optimize_on_lattice(model, space, objective, keeps_together(), {});
    ASSERT_TRUE(together->mapping && together->certificate.optimal) << "seed " << seed;
    expect_equal(metrics(together->evaluation, objective), metrics(expected.evaluation, objective), seed);
  }
  EXPECT_GT(empty, 0);
  EXPECT_LT(empty, 300);
}

TEST_P(LatticeEquals, BruteForceOnSmallProducts) {
  const std::vector<Metric> objective = GetParam();
  int applied = 0;
  for (std::uint64_t seed = 0; applied < 500; ++seed) {
    Dice dice = Dice::from_seed(seed * 12289 + 5 + objective.size());
    const Instance instance = random_product(dice, 6);
    const Model model(instance.einsum, instance.chip, instance.options);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    if (space.size() > 5000) continue;
    const std::optional<Optimum> found = optimize_on_lattice(model, space, objective, {}, {});
    if (!found) continue;
    ++applied;
    std::vector<double> best;
    enumerate(instance.einsum, space, [&](const Mapping& mapping) {
      const std::vector<double> values = metrics(model.evaluate(mapping), objective);
      if (best.empty() || values < best) best = values;
      return true;
    });
    ASSERT_EQ(found->mapping.has_value(), !best.empty()) << "seed " << seed;
    if (!best.empty()) {
      ASSERT_NEAR(metrics(found->evaluation, objective)[0], best[0], 1e-11 * best[0]) << "seed " << seed;
      const std::optional<Optimum> together = optimize_on_lattice(model, space, objective, keeps_together(), {});
      ASSERT_TRUE(together->mapping && together->certificate.optimal) << "seed " << seed;
      ASSERT_NEAR(metrics(together->evaluation, objective)[0], best[0], 1e-11 * best[0]) << "seed " << seed;
    }
  }
}

TEST_P(LatticeEquals, ItselfWithAnyOfItsRulesSwitchedOff) {
  const std::vector<Metric> objective = GetParam();
  SearchRules undominated, apart, no_ceilings, unnested, few_labels, one_by_one;
  undominated.dominance = false;
  apart.together = false;
  no_ceilings.ceilings = false;
  unnested.nested_tiles = false;
  few_labels.most_labels = 2;
  one_by_one.few_keeps = std::numeric_limits<std::size_t>::max() / 2;
  int applied = 0;
  for (std::uint64_t seed = 0; applied < 100; ++seed) {
    Dice dice = Dice::from_seed(seed * 3571 + 11 + objective.size());
    const Instance instance = random_product(dice, 24);
    const Model model(instance.einsum, instance.chip, instance.options);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    const std::optional<Optimum> found = optimize_on_lattice(model, space, objective, {}, {});
    if (!found || !found->mapping) continue;
    ++applied;
    for (const SearchRules& limits :
         {undominated, apart, no_ceilings, unnested, few_labels, one_by_one, keeps_together()}) {
      const std::optional<Optimum> other = optimize_on_lattice(model, space, objective, limits, {});
      ASSERT_TRUE(other && other->mapping) << "seed " << seed;
      expect_equal(metrics(other->evaluation, objective), metrics(found->evaluation, objective), seed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Objectives, LatticeEquals, ::testing::ValuesIn(testing::objectives()));

}  // namespace
}  // namespace orrery::nest
