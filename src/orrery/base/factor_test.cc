#include "orrery/base/factor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace orrery::base {
namespace {

TEST(Factor, PrimePowersMultiplyBackToTheNumber) {
  EXPECT_TRUE(rc::check("product of prime powers", [] {
    const Count n = *rc::gen::inRange<Count>(1, 1 << 22);
    Count product = 1;
    for (const auto& [prime, exponent] : prime_factors(n))
      for (int e = 0; e < exponent; ++e) product *= prime;
    RC_ASSERT(product == n);
  }));
}

TEST(Factor, DivisorsAreExactlyTheNumbersThatDivide) {
  for (Count n = 1; n <= 500; ++n) {
    std::vector<Count> expected;
    for (Count d = 1; d <= n; ++d)
      if (n % d == 0) expected.push_back(d);
    EXPECT_EQ(divisors(n), expected) << n;
  }
}

TEST(Factor, LargePrimesAreTheirOwnFactor) {
  EXPECT_EQ(prime_factors(2147483647), (std::vector<std::pair<Count, int>>{{2147483647, 1}}));
}

}  // namespace
}  // namespace orrery::base
