#include "orrery/engines/nest/search/pareto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/random_space_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

// Of so many problems with mappings; returns how many fronts have several points.
int compare_with_brute_force(int problems, double most_mappings, bool links) {
  int seen = 0, larger = 0;
  for (std::uint64_t seed = 0; seen < problems; ++seed) {
    Dice dice = Dice::from_seed(seed * 3571 + 11);
    testing::Instance instance = testing::random_instance(dice);
    if (links) instance.options = ModelOptions::timeloop();
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    if (space.size() > most_mappings || (links && !model.may_link())) continue;
    std::map<Count, double> least;  // cycles -> least energy
    const auto use = [&](const Mapping& mapping) {
      const Evaluation evaluation = model.evaluate(mapping);
      const auto [at, fresh] = least.try_emplace(evaluation.cycles, evaluation.energy_pj);
      if (!fresh) at->second = std::min(at->second, evaluation.energy_pj);
      return true;
    };
    enumerate(instance.einsum, space, use, {}, {.layouts = links});
    std::vector<std::pair<Count, double>> expected;  // cycles rising
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [cycles, energy_pj] : least)
      if (energy_pj < best * (1 - 1e-11)) expected.emplace_back(cycles, best = energy_pj);
    const ParetoFront front = pareto_front(model, instance.space);
    if (expected.empty()) {
      EXPECT_TRUE(front.infeasible) << "seed " << seed;
      continue;
    }
    ++seen;
    larger += expected.size() > 1;
    EXPECT_EQ(front.points.size(), expected.size()) << "seed " << seed;
    if (front.points.size() != expected.size()) return larger;
    EXPECT_TRUE(front.complete);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const Evaluation& found = front.points[expected.size() - 1 - k].evaluation;
      EXPECT_EQ(found.cycles, expected[k].first) << "seed " << seed;
      EXPECT_NEAR(found.energy_pj, expected[k].second, 1e-11 * expected[k].second) << "seed " << seed;
    }
  }
  return larger;
}

TEST(Pareto, TheFrontIsWhatBruteForceLeavesUndominated) {
  EXPECT_GT(compare_with_brute_force(300, 5000, false), 50);
}

TEST(Pareto, WithLinksOneEnumerationFindsTheFront) {
  EXPECT_GT(compare_with_brute_force(60, 2000, true), 5);
}

Optimum point(double energy_pj, Count cycles, bool optimal, double lower_bound) {
  Optimum out;
  out.mapping = Mapping{};
  out.evaluation.energy_pj = energy_pj;
  out.evaluation.cycles = cycles;
  out.certificate.optimal = optimal;
  out.certificate.lower_bound = lower_bound;
  return out;
}

TEST(Pareto, AMappingFoundElsewhereTakesTheirPlaceFromPointsThatItBeats) {
  ParetoFront front;
  front.complete = false;
  front.points = {point(10, 100, true, 10), point(30, 90, false, 12)};
  include(point(20, 50, true, 1), front);
  ASSERT_EQ(front.points.size(), 2u);
  EXPECT_EQ(front.points[1].evaluation.energy_pj, 20);
  EXPECT_FALSE(front.points[1].certificate.optimal);
  EXPECT_EQ(front.points[1].certificate.lower_bound, 12);
  EXPECT_DOUBLE_EQ(front.points[1].certificate.gap, 0.4);
  include(point(11, 100, true, 1), front);
  include(Optimum{}, front);
  EXPECT_EQ(front.points.size(), 2u);
}

}  // namespace
}  // namespace orrery::nest
