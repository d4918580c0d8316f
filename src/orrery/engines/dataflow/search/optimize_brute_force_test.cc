// The search over degrees, tiles and partitions against trying everything, on random small setups.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/dataflow/model/random_setup_test_util.h"
#include "orrery/engines/dataflow/search/optimize.h"

namespace orrery::dataflow {
namespace {

using random_setup::best_of_all;
using random_setup::Dice;
using random_setup::draw;
using random_setup::problems;

struct Tally {
  int solved = 0, infeasible = 0, refused = 0;
  long tried = 0;
};

void compare(std::uint64_t seed, const PlaceLimits& limits, Tally& tally) {
  Dice dice(seed);
  const dataflow::Setup setup = draw(dice, 5);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Placement found;
  try {
    found = optimize(setup, kCorrected, limits);
  } catch (const base::InputError&) {
    ++tally.refused;
    for (const workload::Kernel& kernel : setup.graph.kernels)
      if (kernel.configuration >= setup.execution.configurations) return;  // nothing to try
    EXPECT_TRUE(std::isinf(best_of_all(setup, false, tally.tried)));
    return;
  }
  const double best = best_of_all(setup, false, tally.tried);
  if (std::isinf(best)) {
    ++tally.infeasible;
    EXPECT_FALSE(found.mapping);
    EXPECT_TRUE(found.infeasible);
    EXPECT_FALSE(found.reasons.empty());
    EXPECT_EQ(found.reasons.size(), found.blamed.size());
    return;
  }
  ++tally.solved;
  ASSERT_TRUE(found.mapping) << (found.reasons.empty() ? "" : found.reasons[0].message);
  EXPECT_NEAR(found.evaluation.final_ns, best, best * 1e-9);
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_EQ(evaluate(placed(setup, found), *found.mapping, kCorrected).final_ns, found.evaluation.final_ns);
}

TEST(OptimizeBruteForce, TheOptimumEqualsTheBestOfAllDegreesTilesAndPartitions) {
  Tally tally;
  for (int seed = 1; seed <= problems(1500) && !HasFailure(); ++seed) compare(seed, {}, tally);
  EXPECT_GT(tally.solved, tally.infeasible);
  EXPECT_GT(tally.infeasible, 0);
  RecordProperty("solved", tally.solved);
  RecordProperty("tried", std::to_string(tally.tried));
}

TEST(OptimizeBruteForce, SoItIsWhereEveryPartitionIsAMixedIntegerProgramme) {
  Tally tally;
  PlaceLimits limits;
  limits.most_ideals = 1;
  for (int seed = 1; seed <= problems(1500) / 30 && !HasFailure(); ++seed) compare(seed, limits, tally);
  EXPECT_GT(tally.solved, 0);
}

}  // namespace
}  // namespace orrery::dataflow
