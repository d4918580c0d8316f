#include "orrery/verbs/sweep/points/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace orrery::sweep {
namespace {

using store::Figure;

Study study_with(const std::vector<std::size_t>& sizes, std::size_t objectives) {
  Study study;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    Axis axis{"f." + std::to_string(a), {}, {}};
    for (std::size_t v = 0; v < sizes[a]; ++v) axis.values.push_back(std::to_string(v));
    study.groups.push_back({{axis}});
  }
  const char* names[] = {"energy", "cycles", "utilization"};
  for (std::size_t o = 0; o < objectives; ++o) study.objectives.push_back(objective_of(names[o], {}));
  return study;
}

TEST(Ranking, FrontAndBestAreThoseOfTryingEveryPair) {
  std::mt19937 dice(20240229);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t objectives = 1 + dice() % 3, count = 1 + dice() % 40;
    const Study study = study_with({count}, objectives);
    Points points;
    for (Point point = 0; point < count; ++point) {
      points.add(point);
      store::Outcome outcome;
      outcome.status = dice() % 8 == 0 ? store::Status::kInfeasible : store::Status::kOptimal;
      for (const Figure figure : {Figure::kEnergy, Figure::kCycles, Figure::kUtilization})
        outcome.figures[figure] = 1 + static_cast<double>(dice() % 6);  // equal ones occur
      points.set(point, outcome);
    }
    const Ranking ranking = rank(study, points);
    std::set<std::size_t> front;
    for (std::size_t a = 0; a < count; ++a) {
      if (!points.found(a)) continue;
      bool beaten = false;
      for (std::size_t b = 0; b < count; ++b)
        beaten = beaten || (points.found(b) &&
                            base::beats(costs_of(study, points.figures(b)), costs_of(study, points.figures(a))));
      if (!beaten) front.insert(a);
    }
    ASSERT_EQ(std::set<std::size_t>(ranking.pareto.begin(), ranking.pareto.end()), front);
    for (std::size_t o = 0; o < objectives; ++o) {
      if (ranking.ranked == 0) {
        ASSERT_EQ(ranking.best[o], Ranking::kNone);
        continue;
      }
      ASSERT_TRUE(front.contains(ranking.best[o])) << "the best by an objective is beaten by none";
      for (std::size_t a = 0; a < count; ++a)
        if (points.found(a)) {
          ASSERT_LE(costs_of(study, points.figures(ranking.best[o]))[o], costs_of(study, points.figures(a))[o]);
        }
    }
  }
}

TEST(Ranking, AFieldThatDecidesAloneHasTheWholeVariance) {
  const Study study = study_with({3, 4}, 1);
  Points points;
  for (Point point = 0; point < 12; ++point) {
    points.add(point);
    store::Outcome outcome;
    outcome.status = store::Status::kOptimal;
    outcome.figures[Figure::kEnergy] = std::exp(static_cast<double>(point % 4));
    points.set(point, outcome);
  }
  const Ranking ranking = rank(study, points);
  EXPECT_EQ(ranking.effects[0].path, "f.1");
  EXPECT_NEAR(ranking.effects[0].share, 1, 1e-9);
  EXPECT_EQ(ranking.effects[0].best, "0");
  EXPECT_NEAR(ranking.effects[1].share, 0, 1e-9);
}

TEST(Ranking, MainEffectsOfAWholeProductSumToAtMostOne) {
  std::mt19937 dice(20240229);
  for (int round = 0; round < 300; ++round) {
    const Study study = study_with({2 + dice() % 3, 2 + dice() % 3, 2 + dice() % 3}, 1);
    Points points;
    for (Point point = 0; point < study.points(); ++point) {
      points.add(point);
      store::Outcome outcome;
      outcome.status = store::Status::kOptimal;
      outcome.figures[Figure::kEnergy] = 1 + static_cast<double>(dice() % 1000);
      points.set(point, outcome);
    }
    double sum = 0;
    for (const Effect& effect : rank(study, points).effects) sum += effect.share;
    ASSERT_LE(sum, 1 + 1e-9);
  }
}

TEST(Ranking, WithoutAPointInTheBudgetTheNearestIsNamed) {
  Study study = study_with({3}, 1);
  study.budgets.push_back({Figure::kArea, 10, {}});
  Points points;
  for (Point point = 0; point < 3; ++point) {
    points.add(point);
    store::Outcome outcome;
    outcome.status = store::Status::kOptimal;
    outcome.figures[Figure::kEnergy] = 1;
    outcome.figures[Figure::kArea] = point == 1 ? 12 : 30;
    points.set(point, outcome);
  }
  const Ranking ranking = rank(study, points);
  EXPECT_EQ(ranking.ranked, 0);
  EXPECT_EQ(ranking.nearest, 1);
  EXPECT_EQ(ranking.excess, "area_um2 12 is over the budget of 10");
}

}  // namespace
}  // namespace orrery::sweep
