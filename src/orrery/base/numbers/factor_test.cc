#include "orrery/base/numbers/factor.h"

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

using Powers = std::vector<std::pair<Count, int>>;

TEST(Factor, NumbersOf63BitsAreFactoredAtOnce) {
  EXPECT_EQ(prime_factors(9223372036854775783), (Powers{{9223372036854775783, 1}}));
  EXPECT_EQ(prime_factors(Count{3037000493} * 3037000493), (Powers{{3037000493, 2}}));
  EXPECT_EQ(prime_factors(Count{2147483647} * 4294967291), (Powers{{2147483647, 1}, {4294967291, 1}}));
  EXPECT_EQ(prime_factors(Count{2097143} * 2097143 * 2097143), (Powers{{2097143, 3}}));
  EXPECT_EQ(prime_factors(Count{65537} * 65539 * 65543 * 3), (Powers{{3, 1}, {65537, 1}, {65539, 1}, {65543, 1}}));
  EXPECT_EQ(divisors(897612484786617600).size(), 103680U);
}

}  // namespace
}  // namespace orrery::base
