// The solvers against every assignment there is. ORRERY_PARTITIONS=N draws N problems instead of the default.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "orrery/engines/dataflow/partition/partition.h"
#include "orrery/engines/dataflow/partition/partition_mip.h"
#include "orrery/engines/dataflow/partition/random_partition_test_util.h"
#include "orrery/engines/dataflow/partition/tilings.h"

namespace orrery::dataflow {
namespace {

using testing::enumerate;
using testing::Enumerated;
using testing::PartitionDice;
using testing::random_partition;

int problems(int usual) {
  const char* wanted = std::getenv("ORRERY_PARTITIONS");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

TEST(PartitionBruteForce, IdealsEqualEnumerationToTheLastTie) {
  int solved = 0, infeasible = 0;
  for (int seed = 0; seed < problems(4000); ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed));
    const PartitionProblem problem = random_partition(dice);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, testing::to_text(problem)));
    const Enumerated expected = enumerate(problem);
    const PartitionOptimum found = optimize(problem);
    ASSERT_EQ(found.assignment.has_value(), expected.assignment.has_value());
    ASSERT_EQ(found.infeasible, !expected.assignment.has_value());
    ASSERT_TRUE(found.certificate.optimal);
    ASSERT_FALSE(found.interrupted);
    if (!expected.assignment) {
      ++infeasible;
      continue;
    }
    ++solved;
    ASSERT_EQ(*found.assignment, *expected.assignment) << found.method;
    ASSERT_EQ(found.cost.sum_interval_ns, price(problem, *found.assignment).sum_interval_ns);
    ASSERT_EQ(found.certificate.gap, 0);
  }
  EXPECT_GT(solved, infeasible);
  EXPECT_GT(infeasible, 0);
}

TEST(PartitionBruteForce, ASecondMemoryTakesWhatTheFirstDoesNotHold) {
  int solved = 0, spilled = 0, mixed = 0;
  for (int seed = 0; seed < problems(1500); ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed) + 9'000'000);
    PartitionProblem problem = random_partition(dice, 6);
    problem.dram_bytes = dice.roll(1, 40);
    problem.second_dram_bytes = dice.roll(1, 60);
    problem.mixed_bandwidth_gb_per_s = problem.dram_bandwidth_gb_per_s * dice.roll(2, 10) / 10.0;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, testing::to_text(problem)));
    const Enumerated expected = enumerate(problem);
    const PartitionOptimum found = optimize(problem);
    ASSERT_EQ(found.assignment.has_value(), expected.assignment.has_value());
    ASSERT_EQ(found.infeasible, !expected.assignment.has_value());
    ASSERT_TRUE(found.certificate.optimal);
    if (!expected.assignment) continue;
    ++solved;
    const PartitionCost least = price(problem, *expected.assignment);
    ASSERT_NEAR(found.cost.sum_interval_ns, least.sum_interval_ns, 1e-12 * least.sum_interval_ns);
    // What lies in DRAM decides which bandwidth counts.
    double most = 0;
    for (const ConfigurationCost& cost : found.cost.configurations) most = std::max(most, cost.dram_bytes);
    ASSERT_EQ(found.cost.in_second_dram, most > problem.dram_bytes * (1 + 1e-12));
    ASSERT_LE(most, (problem.dram_bytes + problem.second_dram_bytes) * (1 + 1e-12));
    spilled += found.cost.in_second_dram;
    PartitionProblem fast = within_first_dram(problem);
    fast.dram_bytes = 0;
    mixed += found.cost.sum_interval_ns > price(fast, *found.assignment).sum_interval_ns;
    // Half of the bound below the answer: nothing is found, and the proof stands.
    PartitionLimits limits;
    limits.upper_bound_ns = found.cost.sum_interval_ns / 2;
    if (limits.upper_bound_ns > 0) {
      ASSERT_FALSE(optimize(problem, limits).assignment);
    }
  }
  EXPECT_GT(solved, 300);
  EXPECT_GT(spilled, 40);
  EXPECT_GT(mixed, 10);
}

// Tiles by configuration: other times, buffers and choices of the same kernels and edges.
PartitionProblem tiled_otherwise(const PartitionProblem& problem, PartitionDice& dice) {
  PartitionProblem other = problem;
  for (PartitionKernel& kernel : other.kernels) {
    kernel.compute_ns *= dice.roll(1, 4) / 2.0;
    kernel.network_ns *= dice.roll(1, 4) / 2.0;
    for (CoreChoice& choice : kernel.choices) choice.ns *= dice.roll(3, 5) / 4.0;
    std::vector<CoreChoice> falling;
    for (const CoreChoice& choice : kernel.choices)
      if (falling.empty() || choice.ns < falling.back().ns) falling.push_back(choice);
    kernel.choices = falling;
  }
  for (PartitionEdge& edge : other.edges) {
    edge.buffer_bytes *= dice.roll(1, 4) / 2.0;
    edge.stream_bytes *= dice.roll(1, 4) / 2.0;
  }
  return other;
}

TEST(PartitionBruteForce, TilesByConfigurationTakeTheFastestOfEveryTilingInEveryConfiguration) {
  int solved = 0, mixed = 0;
  for (int seed = 0; seed < problems(1500); ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed) + 7'000'000);
    const PartitionProblem one = random_partition(dice, 6);
    const std::vector<PartitionProblem> all = {one, tiled_otherwise(one, dice), tiled_otherwise(one, dice)};
    const PartitionProblem problem = fastest_of(all);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, testing::to_text(one)));
    const Enumerated expected = enumerate(problem);
    const PartitionOptimum found = optimize(problem);
    ASSERT_EQ(found.assignment.has_value(), expected.assignment.has_value());
    if (!found.assignment) continue;
    ++solved;
    ASSERT_EQ(*found.assignment, *expected.assignment);
    // Independent of how alternatives are priced: each configuration by itself, under each tiling.
    double sum = 0;
    for (std::size_t c = 0; c < found.cost.configurations.size(); ++c) {
      const std::vector<int>& members = found.cost.configurations[c].kernels;
      if (members.empty()) continue;
      double least = -1;
      for (const PartitionProblem& tiling : all) {
        const ConfigurationCost cost = price(tiling, std::span<const int>(members));
        if (cost.fits && (least < 0 || cost.interval_ns < least)) least = cost.interval_ns;
      }
      ASSERT_EQ(found.cost.configurations[c].interval_ns, least);
      sum += least;
      mixed += found.cost.configurations[c].tiling != found.cost.configurations[0].tiling;
    }
    ASSERT_EQ(found.cost.sum_interval_ns, sum);
  }
  EXPECT_GT(solved, 100);
  EXPECT_GT(mixed, 100);
}

// With room for few ideals the second bound comes in, and where that is not enough, the MIP.
TEST(PartitionBruteForce, AnyLimitOnIdealsLeadsToTheSameSum) {
  int ideals = 0, mip = 0, untied = 0;
  for (int seed = 0; seed < problems(3000); ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed) + 2'000'000);
    PartitionProblem problem = random_partition(dice, 8);
    problem.memory_units = 0;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, testing::to_text(problem)));
    PartitionLimits limits;
    limits.most_ideals = seed % 100 == 0 ? 5 : 60;
    const PartitionOptimum found = optimize(problem, limits);
    const PartitionOptimum expected = optimize(problem);
    ASSERT_EQ(found.assignment.has_value(), expected.assignment.has_value());
    ASSERT_EQ(found.infeasible, expected.infeasible);
    ASSERT_TRUE(found.certificate.optimal);
    const bool by_mip = found.method == "mixed-integer programme";
    ++(by_mip ? mip : ideals);
    if (!expected.assignment) continue;
    const double sum = expected.cost.sum_interval_ns;
    ASSERT_NEAR(found.cost.sum_interval_ns, sum, (by_mip ? 1e-7 : 1e-12) * sum);
    if (found.ties_broken) {
      ASSERT_EQ(*found.assignment, *expected.assignment);
    } else {
      ++untied;
    }
  }
  EXPECT_GT(ideals, mip);
  EXPECT_GT(mip, 0);
  EXPECT_GT(untied, 0);
}

// It has no rows for memory units.
TEST(PartitionBruteForce, TheMipEqualsEnumeration) {
  int solved = 0, infeasible = 0;
  for (int seed = 0; seed < problems(100); ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed) + 1'000'000);
    PartitionProblem problem = random_partition(dice, 6);
    problem.memory_units = 0;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, testing::to_text(problem)));
    const PartitionSpace space = partition_space(problem);
    if (space.empty) continue;
    const Enumerated expected = enumerate(problem);
    const PartitionOptimum found = optimize_by_mip(problem, space, {}, {});
    ASSERT_EQ(found.assignment.has_value(), expected.assignment.has_value());
    ASSERT_EQ(found.infeasible, !expected.assignment.has_value());
    ASSERT_TRUE(found.certificate.optimal);
    ++(expected.assignment ? solved : infeasible);
    if (!expected.assignment) continue;
    ASSERT_NEAR(found.cost.sum_interval_ns, expected.sum_ns, 1e-7 * expected.sum_ns);
    ASSERT_EQ(found.cost.sum_interval_ns, price(problem, *found.assignment).sum_interval_ns);
    ASSERT_LE(found.certificate.lower_bound, found.cost.sum_interval_ns);
  }
  EXPECT_GT(solved, infeasible);
  EXPECT_GT(infeasible, 0);
}

TEST(PartitionBruteForce, TheMipBoundsProblemsWithMemoryUnits) {
  int bounded = 0;
  for (int seed = 0; seed < problems(300); ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed) + 3'000'000);
    const PartitionProblem problem = random_partition(dice, 5);
    const PartitionSpace space = partition_space(problem);
    if (space.empty || problem.memory_units == 0) continue;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, testing::to_text(problem)));
    const PartitionOptimum expected = optimize(problem), found = optimize_by_mip(problem, space, {}, {});
    if (found.infeasible) {
      ASSERT_TRUE(expected.infeasible);
    }
    if (expected.assignment) {
      ++bounded;
      ASSERT_LE(found.certificate.lower_bound, expected.cost.sum_interval_ns * (1 + 1e-7));
    }
    if (found.assignment) {
      ASSERT_TRUE(found.cost.feasible);
      ASSERT_GE(found.cost.sum_interval_ns, expected.cost.sum_interval_ns * (1 - 1e-12));
    }
  }
  EXPECT_GT(bounded, 0);
}

}  // namespace
}  // namespace orrery::dataflow
