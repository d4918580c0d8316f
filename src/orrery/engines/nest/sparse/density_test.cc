#include "orrery/engines/nest/sparse/density.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace orrery::nest {
namespace {

using base::Count;

Mold tile(std::vector<Count> extents) {
  Mold mold{extents, 1};
  for (const Count extent : extents) mold.words *= extent;
  return mold;
}

double sum_of(const Density& density, const Mold& mold) {
  double sum = 0;
  for (const auto& [occupancy, probability] : density.occupancies(mold)) sum += probability;
  return sum;
}

double mean_of(const Density& density, const Mold& mold) {
  double sum = 0;
  for (const auto& [occupancy, probability] : density.occupancies(mold))
    sum += probability * static_cast<double>(occupancy);
  return sum;
}

TEST(Density, StructuredTilesHaveTheFloorOrTheCeilOfTheirShare) {
  const Density density = Density::structured(0.275);
  EXPECT_EQ(density.occupancies(tile({96})).front().first, 26);
  EXPECT_EQ(density.most(tile({96})), 27);
  EXPECT_NEAR(mean_of(density, tile({96})), 26.4, 1e-12);
  EXPECT_DOUBLE_EQ(density.empty(tile({1})), 0.725);
  EXPECT_EQ(density.empty(tile({4})), 0);
  EXPECT_EQ(Density::structured(0.25).occupancies(tile({8, 2})), (std::vector<std::pair<Count, double>>{{4, 1.0}}));
}

TEST(Density, HypergeometricIsTheRatioOfBinomialCoefficients) {
  // C(4, k) C(6, 3 - k) / C(10, 3), by hand.
  const double exact[] = {20.0 / 120, 60.0 / 120, 36.0 / 120, 4.0 / 120};
  for (Count k = 0; k <= 3; ++k) EXPECT_NEAR(hypergeometric_share(k, 3, 4, 10), exact[k], 1e-14);
  EXPECT_EQ(hypergeometric_share(4, 3, 4, 10), 0);
  EXPECT_EQ(hypergeometric_share(0, 7, 4, 10), 0);  // seven words cannot avoid four of ten
  EXPECT_EQ(hypergeometric_share(4, 10, 4, 10), 1);
}

TEST(Density, HypergeometricEmptinessIsAProductOfRatios) {
  for (const Count n : {1, 2, 7, 40, 900}) {
    double product = 1;
    for (Count i = 0; i < n; ++i) product *= static_cast<double>(100'000 - 250 - i) / static_cast<double>(100'000 - i);
    EXPECT_NEAR(hypergeometric_share(0, n, 250, 100'000) / product, 1, 1e-11) << n;
  }
}

TEST(Density, ProbabilitiesSumToOneAndHaveTheExpectedMean) {
  const Density densities[] = {Density::structured(0.37), Density::hypergeometric(0.2, 4096),
                               Density::pattern(band(16, 16, 2))};
  for (const Density& density : densities)
    for (const Mold& mold : {tile({1, 1}), tile({4, 2}), tile({16, 4}), tile({16, 16})}) {
      EXPECT_NEAR(sum_of(density, mold), 1, 1e-12) << density.name();
      EXPECT_NEAR(mean_of(density, mold), density.expected(mold), 1e-9 * (1 + density.expected(mold)))
          << density.name();
      EXPECT_LE(density.occupancies(mold).back().first, density.most(mold));
    }
}

TEST(Density, LargeTensorsKeepTheirPrecision) {
  const Density density = Density::hypergeometric(0.3, Count{1} << 40);
  EXPECT_NEAR(density.empty(tile({1})), 0.7, 1e-9);
  EXPECT_NEAR(density.empty(tile({10})), std::pow(0.7, 10), 1e-9);
  EXPECT_NEAR(sum_of(density, tile({1 << 16})), 1, 1e-9);
  const Mold wide = tile({1 << 20, 1 << 15});  // some 10^5 standard deviations of which every so many are summed
  EXPECT_NEAR(sum_of(density, wide), 1, 1e-12);
  EXPECT_NEAR(mean_of(density, wide) / density.expected(wide), 1, 1e-9);
  EXPECT_LT(density.occupancies(wide).size(), 5000u);
}

TEST(Density, TilesAreEmptyMoreOftenTheSmallerAndTheSparserTheyAre) {
  for (const double share : {0.05, 0.2, 0.6, 0.95}) {
    const Density density = Density::hypergeometric(share, 1024);
    double before = 1;
    for (const Count words : {1, 2, 3, 8, 64, 512}) {
      EXPECT_LE(density.empty(tile({words})), before);
      before = density.empty(tile({words}));
    }
  }
  for (const Count words : {1, 3, 20}) {
    double before = 1;
    for (const double share : {0.05, 0.2, 0.6, 0.95, 1.0}) {
      EXPECT_LE(Density::hypergeometric(share, 1024).empty(tile({words})), before);
      EXPECT_LE(Density::structured(share).empty(tile({words})),
                std::max(0.0, 1 - share * static_cast<double>(words)) + 1e-12);
      before = Density::hypergeometric(share, 1024).empty(tile({words}));
    }
  }
}

TEST(Density, ABandIsCountedTileByTile) {
  const Pattern diagonal = band(8, 8, 0);
  EXPECT_EQ(diagonal.nonzeros(), 8);
  const Density density = Density::pattern(diagonal);
  EXPECT_DOUBLE_EQ(density.share(), 1.0 / 8);
  EXPECT_DOUBLE_EQ(density.empty(tile({2, 2})), 12.0 / 16);
  EXPECT_EQ(density.most(tile({2, 2})), 2);
  EXPECT_EQ(band(8, 8, 1).nonzeros(), 22);
  EXPECT_DOUBLE_EQ(Density::pattern(band(8, 8, 1)).empty(tile({4, 4})), 0);
}

TEST(Density, InsideATileOfKnownOccupancyEmptinessIsConditional) {
  // 2 nonzeros among 8 words; a word is empty with 6/8, a pair with C(6, 2) / C(8, 2).
  const auto scattered = Density::hypergeometric(0.25, 64);
  EXPECT_NEAR(scattered.empty_within(tile({1}), tile({8}))(2), 0.75, 1e-13);
  EXPECT_NEAR(scattered.empty_within(tile({2}), tile({8}))(2), 15.0 / 28, 1e-13);
  EXPECT_EQ(scattered.empty_within(tile({8}), tile({8}))(2), 0);
  EXPECT_EQ(scattered.empty_within(tile({8}), tile({8}))(0), 1);
  EXPECT_DOUBLE_EQ(Density::structured(0.25).empty_within(tile({1}), tile({8}))(2), 0.75);
  // Of a diagonal's 4 x 4 tiles those with four nonzeros have two of four 2 x 2 tiles empty.
  const auto diagonal = Density::pattern(band(8, 8, 0));
  EXPECT_DOUBLE_EQ(diagonal.empty_within(tile({2, 2}), tile({4, 4}))(4), 0.5);
}

TEST(Density, EmptinessWithinTilesAveragesToEmptiness) {
  const Density densities[] = {Density::hypergeometric(0.1, 256), Density::pattern(band(16, 16, 1))};
  for (const Density& density : densities) {
    const Mold outer = tile({4, 8}), inner = tile({2, 2});
    const auto within = density.empty_within(inner, outer);
    double sum = 0;
    for (const auto& [occupancy, probability] : density.occupancies(outer)) sum += probability * within(occupancy);
    EXPECT_NEAR(sum, density.empty(inner), 1e-12) << density.name();
  }
}

// Nonzeros dealt at random over the tensor, tiles counted: what is expected comes out within five standard errors.
TEST(Density, RandomTensorsHaveHypergeometricTiles) {
  std::mt19937_64 dice(7);
  constexpr Count kWords = 480, kNonzeros = 120;
  const Density density = Density::hypergeometric(0.25, kWords);
  std::vector<int> tensor(kWords, 0);
  std::fill_n(tensor.begin(), kNonzeros, 1);
  for (const Count words : {1, 4, 10, 24}) {
    constexpr int kTensors = 4000;
    double empty = 0, squares = 0;
    for (int t = 0; t < kTensors; ++t) {
      std::shuffle(tensor.begin(), tensor.end(), dice);
      // One tile of each tensor, so that samples are independent.
      const int nonzeros = std::accumulate(tensor.begin(), tensor.begin() + words, 0);
      empty += nonzeros == 0;
      squares += nonzeros * nonzeros;
    }
    const double p = density.empty(tile({words}));
    EXPECT_NEAR(empty / kTensors, p, 5 * std::sqrt(p * (1 - p) / kTensors) + 1e-9) << words;
    double second = 0, fourth = 0;
    for (const auto& [k, probability] : density.occupancies(tile({words}))) {
      const double k2 = static_cast<double>(k) * static_cast<double>(k);
      second += probability * k2, fourth += probability * k2 * k2;
    }
    EXPECT_NEAR(squares / kTensors, second, 5 * std::sqrt((fourth - second * second) / kTensors)) << words;
  }
}

}  // namespace
}  // namespace orrery::nest
