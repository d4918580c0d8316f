#include "orrery/verbs/sweep/engines/least_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace orrery::sweep {
namespace {

std::vector<BoundedPair> draw(std::mt19937& dice, int most) {
  std::uniform_real_distribution<double> size(-3, 3), more(0, 2);
  std::vector<BoundedPair> out;
  for (int i = 1 + static_cast<int>(dice() % static_cast<unsigned>(most)); i > 0; --i) {
    BoundedPair pair{static_cast<double>(1 + dice() % 4), std::exp(size(dice)), std::exp(size(dice)), 0};
    pair.product = pair.first * pair.second * (dice() % 3 == 0 ? 1 : std::exp(more(dice)));
    out.push_back(pair);
  }
  return out;
}

TEST(LeastProduct, NoPairsWithinTheirBoundsHaveALesserProductOfSums) {
  std::mt19937 dice(20240311);
  std::uniform_real_distribution<double> along(0, 1);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<BoundedPair> pairs = draw(dice, 6);
    const double least = least_product(pairs);
    for (int i = 0; i < 50; ++i) {
      double one = 0, other = 0;
      for (const BoundedPair& pair : pairs) {
        // On the curve where the product is least, anywhere between both ends, and at times above it.
        const double first = pair.first * std::pow(pair.product / pair.first / pair.second, along(dice));
        one += pair.times * first;
        other += pair.times * pair.product / first * (dice() % 4 == 0 ? 1 + along(dice) : 1);
      }
      ASSERT_LE(least, one * other * (1 + 1e-12));
    }
  }
}

TEST(LeastProduct, IsReachedWithinItsBounds) {
  std::mt19937 dice(20240312);
  for (int round = 0; round < 300; ++round) {
    const std::vector<BoundedPair> pairs = draw(dice, 2);
    double best = INFINITY;
    constexpr int kSteps = 400;
    const auto first = [&](std::size_t i, int step) {
      return pairs[i].first * std::pow(pairs[i].product / pairs[i].first / pairs[i].second, step * 1.0 / kSteps);
    };
    for (int a = 0; a <= kSteps; ++a)
      for (int b = 0; b <= (pairs.size() > 1 ? kSteps : 0); ++b) {
        double one = pairs[0].times * first(0, a), other = pairs[0].times * pairs[0].product / first(0, a);
        if (pairs.size() > 1)
          one += pairs[1].times * first(1, b), other += pairs[1].times * pairs[1].product / first(1, b);
        best = std::min(best, one * other);
      }
    EXPECT_NEAR(least_product(pairs) / best, 1, 1e-4);  // as fine as the grid
  }
}

TEST(LeastProduct, ASinglePairHasItsOwnProduct) {
  EXPECT_NEAR(least_product({{3, 2, 5, 17}}), 9 * 17, 1e-6);
  EXPECT_NEAR(least_product({{1, 2, 5, 0}}), 10, 1e-6);  // the ends themselves
}

}  // namespace
}  // namespace orrery::sweep
