// The solvers against every assignment there is. ORRERY_PARTITIONS=N draws N problems instead of the default.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "orrery/dataflow/partition.h"
#include "orrery/dataflow/random_partition_test_util.h"

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

}  // namespace
}  // namespace orrery::dataflow
