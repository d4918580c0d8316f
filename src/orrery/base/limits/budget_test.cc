#include "orrery/base/limits/budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace orrery::base {
namespace {

TEST(Budget, WithoutLimitsIsNeverSpent) {
  const Budget budget;
  EXPECT_FALSE(budget.spent());
  EXPECT_FALSE(budget.limited());
  EXPECT_TRUE(budget.has_room(1e300));
  EXPECT_EQ(budget.seconds_left(), std::numeric_limits<double>::infinity());
}

TEST(Budget, IsSpentWhenTimeIsUp) {
  const Budget budget({.seconds = 0.01});
  EXPECT_TRUE(budget.limited());
  EXPECT_LE(budget.seconds_left(), 0.01);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(budget.spent());
  EXPECT_EQ(budget.seconds_left(), 0);
}

TEST(Budget, IsSpentWhenAStopIsAskedFor) {
  std::atomic<bool> stop{false};
  const Budget budget({.stop = &stop});
  const Budget part(budget, 100);
  EXPECT_FALSE(part.spent());
  stop = true;
  EXPECT_TRUE(part.spent());
  EXPECT_TRUE(budget.interrupted());
}

TEST(Budget, APartLastsNoLongerThanTheWhole) {
  const Budget whole({.seconds = 0.01});
  EXPECT_LE(Budget(whole, 100).seconds_left(), 0.01);
  EXPECT_LE(Budget(Budget(), 0.01).seconds_left(), 0.01);
  EXPECT_FALSE(Budget(Budget(), std::numeric_limits<double>::infinity()).limited());
}

TEST(Budget, SecondsThatNoClockCountsAreNoLimit) {
  EXPECT_FALSE(Budget({.seconds = 1e300}).spent());
}

TEST(Budget, SearchesBesideEachOtherShareTheMemory) {
  const Budget budget({.memory = std::size_t{1} << 30}, 4);
  EXPECT_TRUE(budget.has_room(1 << 28));
  EXPECT_FALSE(budget.has_room((1 << 28) + 1));
}

TEST(Budget, IsSpentWhenTheProcessHasGrownPastTheMemory) {
  const std::vector<char> ballast(std::size_t{256} << 20, 1);
  const Budget small({.memory = 1 << 20}), large({.memory = ballast.size() * 4});
  EXPECT_TRUE(small.spent());
  EXPECT_TRUE(small.out_of_memory());
  EXPECT_FALSE(large.spent());
  EXPECT_FALSE(large.out_of_memory());
}

TEST(Ticker, AsksOnceInAWhileAndRemembers) {
  std::atomic<bool> stop{true};
  const Budget budget({.stop = &stop});
  Ticker clock(budget, 4);
  for (int k = 0; k < 3; ++k) EXPECT_FALSE(clock.spent());
  EXPECT_TRUE(clock.spent());
  stop = false;
  EXPECT_TRUE(clock.spent());
  EXPECT_TRUE(clock.was_spent());
}

}  // namespace
}  // namespace orrery::base
