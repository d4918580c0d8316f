#include "orrery/formats/timeloop/constraints/maximize_dims.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace orrery::formats::timeloop {
namespace {

using base::Count;

std::vector<Count> factors(const std::vector<Count>& sizes, Count capacity) {
  return maximise(sizes, capacity)->factors;
}

TEST(MaximizeDims, TakesTheLargestDivisorThatFits) {
  EXPECT_EQ(factors({4096}, 64), std::vector<Count>{64});
  EXPECT_EQ(factors({768}, 100), std::vector<Count>{96});
  EXPECT_EQ(factors({1}, 64), std::vector<Count>{1});
  EXPECT_EQ(factors({4}, 64), std::vector<Count>{4});
  EXPECT_EQ(factors({7}, 1), std::vector<Count>{1});
}

TEST(MaximizeDims, PrefersTheFirstDimensionAmongEquals) {
  EXPECT_EQ(factors({16, 16}, 16), (std::vector<Count>{16, 1}));
}

TEST(MaximizeDims, SaysWhenARemainderWouldFillMore) {
  const auto result = maximise({500}, 64);
  EXPECT_EQ(result->factors, std::vector<Count>{50});
  EXPECT_EQ(result->with_remainder, std::vector<Count>{63});
  EXPECT_TRUE(maximise({512}, 64)->with_remainder.empty());
}

TEST(MaximizeDims, GivesUpRatherThanHang) {
  const std::vector<Count> sizes(6, Count{735134400});
  EXPECT_FALSE(maximise(sizes, Count{1} << 60).has_value());
}

TEST(MaximizeDims, IsTheBestOfAllDivisorPairs) {
  EXPECT_TRUE(rc::check("brute force", [] {
    const Count a = *rc::gen::inRange<Count>(1, 200);
    const Count b = *rc::gen::inRange<Count>(1, 200);
    const Count capacity = *rc::gen::inRange<Count>(1, 300);
    Count best = 1;
    for (Count x = 1; x <= a; ++x)
      for (Count y = 1; y <= b; ++y)
        if (a % x == 0 && b % y == 0 && x * y <= capacity) best = std::max(best, x * y);
    const std::vector<Count> taken = maximise({a, b}, capacity)->factors;
    RC_ASSERT(a % taken[0] == 0);
    RC_ASSERT(b % taken[1] == 0);
    RC_ASSERT(taken[0] * taken[1] == best);
  }));
}

}  // namespace
}  // namespace orrery::formats::timeloop
