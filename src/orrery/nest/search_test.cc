#include "orrery/nest/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "orrery/nest/enumerate.h"
#include "orrery/nest/legality.h"
#include "orrery/nest/random_nest_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

std::vector<double> metrics(const Evaluation& evaluation, const std::vector<Metric>& objective) {
  std::vector<double> values;
  for (const Metric metric : objective)
    values.push_back(metric == Metric::kEdp      ? evaluation.edp_j_cycles
                     : metric == Metric::kEnergy ? evaluation.energy_pj
                                                 : static_cast<double>(evaluation.cycles));
  return values;
}

// Equal metrics but for the rounding of sums taken in another order; -1, 0, 1 as the first differing one says.
int compare(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] < b[k] * (1 - 1e-11)) return -1;
    if (a[k] > b[k] * (1 + 1e-11)) return 1;
  }
  return 0;
}

// Constraints of every kind, most of them absent, so that most spaces are not empty.
Mapspace random_space(Dice& dice, const workload::Einsum& einsum, const machine::Chip& chip) {
  Mapspace space;
  const int levels = static_cast<int>(chip.storages.size());
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const auto add = [&](Constraint constraint) { space.constraints.push_back(std::move(constraint)); };
  for (int level = 0; level < levels; ++level) {
    for (const bool spatial : {false, true})
      for (int d = 0; d < dimensions; ++d) {
        if (!dice.once_in(6)) continue;
        Constraint constraint;
        constraint.level = level;
        constraint.spatial = spatial;
        constraint.dimension = d;
        const auto divisors = base::divisors(einsum.dimensions[d].bound);
        constraint.value = divisors[dice(0, static_cast<Count>(divisors.size()) - 1)];
        constraint.comparison = static_cast<Comparison>(dice(0, 2));
        if (constraint.comparison == Comparison::kAtLeast && !dice.once_in(3)) constraint.value = 1;
        add(constraint);
      }
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      const bool outermost = level == levels - 1;
      if (!dice.once_in(outermost ? 1 : 3)) continue;
      Constraint constraint;
      constraint.kind = Constraint::Kind::kKeep;
      constraint.level = level;
      constraint.dataspace = static_cast<int>(s);
      constraint.keep = outermost ? !dice.once_in(12) : dice(0, 1) == 1;
      add(constraint);
    }
    for (const bool spatial : {false, true}) {
      if (!dice.once_in(4)) continue;
      Constraint constraint;
      constraint.kind = Constraint::Kind::kOrder;
      constraint.level = level;
      constraint.spatial = spatial;
      const std::vector<int> order = dice.order(dimensions);
      const int inner = static_cast<int>(dice(0, dimensions)), outer = static_cast<int>(dice(0, dimensions - inner));
      constraint.inner.assign(order.begin(), order.begin() + inner);
      constraint.outer.assign(order.end() - outer, order.end());
      add(constraint);
    }
    if (dice.once_in(6)) {
      Constraint constraint;
      constraint.kind = Constraint::Kind::kSplit;
      constraint.level = level;
      constraint.spatial = true;
      constraint.value = dice(0, dimensions);
      add(constraint);
    }
    if (dice.once_in(8)) {
      Constraint constraint;
      constraint.kind = Constraint::Kind::kMinParallelism;
      constraint.level = level;
      constraint.spatial = true;
      constraint.fraction = dice.hundredths(0, 60);
      add(constraint);
    }
  }
  if (dice.once_in(4)) {
    space.reuse.resize(levels);
    const auto all = static_cast<Count>((1u << einsum.dataspaces.size()) - 1);
    for (ReuseRules& rules : space.reuse) {
      if (dice.once_in(3)) rules.no_temporal_reuse = static_cast<std::uint32_t>(dice(0, all));
      if (dice.once_in(3)) rules.no_spatial_sharing = static_cast<std::uint32_t>(dice(0, all));
      if (dice.once_in(3)) rules.read_first_update = static_cast<std::uint32_t>(dice(0, all));
      if (dice.once_in(3)) rules.no_coalescing = static_cast<std::uint32_t>(dice(0, all));
    }
  }
  return space;
}

struct Instance {
  workload::Einsum einsum;
  machine::Chip chip;
  Mapspace space;
  ModelOptions options;
};

Instance random_instance(Dice& dice) {
  Instance instance;
  instance.einsum = testing::random_einsum(dice, 8);
  instance.chip = testing::random_chip(dice);
  instance.space = random_space(dice, instance.einsum, instance.chip);
  if (dice.once_in(3)) instance.options = ModelOptions::timeloop();
  return instance;
}

// Few enough mappings for brute force.
constexpr double kLargestSpace = 20000;

class SearchEqualsBruteForce : public ::testing::TestWithParam<std::vector<Metric>> {};

TEST_P(SearchEqualsBruteForce, OnRandomProblemsChipsAndConstraints) {
  const std::vector<Metric> objective = GetParam();
  int solved = 0, empty = 0;
  for (std::uint64_t seed = 0; solved < 2000; ++seed) {
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
  EXPECT_GT(empty, 50);  // both kinds of answer were exercised
}

INSTANTIATE_TEST_SUITE_P(Objectives, SearchEqualsBruteForce,
                         ::testing::Values(std::vector<Metric>{Metric::kEdp}, std::vector<Metric>{Metric::kEnergy},
                                           std::vector<Metric>{Metric::kDelay},
                                           std::vector<Metric>{Metric::kDelay, Metric::kEnergy},
                                           std::vector<Metric>{Metric::kEdp, Metric::kDelay, Metric::kEnergy}));

}  // namespace
}  // namespace orrery::nest
