#include "orrery/engines/nest/search/incumbent.h"

#include <gtest/gtest.h>

namespace orrery::nest {
namespace {

Evaluation costing(double energy_pj, base::Count cycles) {
  Evaluation cost;
  cost.energy_pj = energy_pj;
  cost.cycles = cycles;
  return cost;
}

const std::vector<Metric> kEnergyThenDelay{Metric::kEnergy, Metric::kDelay};

TEST(Incumbent, OfMetricsThatDifferByRoundingTheNextOneDecides) {
  Incumbent incumbent(kEnergyThenDelay, 0, nullptr);
  EXPECT_TRUE(incumbent.offer({}, costing(100, 7)));
  EXPECT_FALSE(incumbent.offer({}, costing(100 * (1 - kEqual / 2), 7)));  // equal: the first stays
  EXPECT_TRUE(incumbent.offer({}, costing(100 * (1 + kEqual / 2), 6)));
  EXPECT_TRUE(incumbent.offer({}, costing(100 * (1 - 3 * kEqual), 9)));
  EXPECT_EQ(incumbent.evaluation().cycles, 9);
}

TEST(Incumbent, OfEqualMappingsTheEarlierInSearchOrderWins) {
  Incumbent incumbent(kEnergyThenDelay, 0, nullptr);
  EXPECT_TRUE(incumbent.offer({}, costing(100, 7), 5));
  EXPECT_FALSE(incumbent.offer({}, costing(100, 7), 6));
  EXPECT_FALSE(incumbent.offer({}, costing(100, 7)));
  EXPECT_TRUE(incumbent.offer({}, costing(100, 7), 4));
  EXPECT_EQ(incumbent.mark().place, 4);
}

TEST(Incumbent, TooManyCyclesAndWhatIsNoBetterThanWantedAreNoAnswers) {
  const Evaluation wanted = costing(100, 7);
  Incumbent incumbent(kEnergyThenDelay, 8, &wanted);
  EXPECT_FALSE(incumbent.offer({}, costing(50, 9)));
  EXPECT_FALSE(incumbent.offer({}, costing(100, 7)));
  EXPECT_FALSE(incumbent.mapping());
  EXPECT_TRUE(incumbent.answer(true, kNever).infeasible);
  EXPECT_TRUE(incumbent.offer({}, costing(90, 8)));
  const Optimum answer = incumbent.answer(true, kNever);
  EXPECT_TRUE(answer.certificate.optimal && answer.mapping && !answer.infeasible);
  EXPECT_EQ(answer.certificate.lower_bound, 90);
}

}  // namespace
}  // namespace orrery::nest
