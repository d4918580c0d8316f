#include "orrery/describe/machine/systolic_cores.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/describe/machine/roofline.h"

namespace orrery::machine {
namespace {

using base::Count;

CoreArray chip(Count cores, Count width, Count height) {
  return {.cores = cores, .width = width, .height = height, .frequency_ghz = 1};
}

double cycles(const CoreArray& c, Count m, Count n, Count k, Count lanes, Count stages) {
  return static_cast<double>(base::ceil_divide(m, lanes * c.width) * base::ceil_divide(n, stages * c.height) * k);
}

// The published schedule of a 175B layer on eight chips gives its first feed-forward product 14 lanes x 22 stages.
TEST(SystolicCores, CyclesOfAKnownProduct) {
  const SystolicCores cores(chip(640, 32, 6));
  for (const CoreShare& share : cores.product(6144, 128, 12288, Shares::kFewestCores))
    if (share.cores == 308) {
      EXPECT_EQ(share.cycles, 172032);
      EXPECT_EQ(share.lanes, 14);
      EXPECT_EQ(share.stages, 22);
      return;
    }
  FAIL() << "308 cores are a choice worth having";
}

TEST(SystolicCores, ListsTheLeastCyclesOfEveryNumberOfCores) {
  rc::check("against all lanes x stages", [] {
    const auto c =
        chip(*rc::gen::inRange<Count>(1, 60), *rc::gen::inRange<Count>(1, 5), *rc::gen::inRange<Count>(1, 5));
    const Count m = *rc::gen::inRange<Count>(1, 120), n = *rc::gen::inRange<Count>(1, 120);
    const Count k = *rc::gen::inRange<Count>(1, 4);
    std::map<Count, double> best;
    for (Count l = 1; l <= c.cores; ++l)
      for (Count s = 1; l * s <= c.cores; ++s) {
        const auto [at, fresh] = best.try_emplace(l * s, cycles(c, m, n, k, l, s));
        if (!fresh) at->second = std::min(at->second, cycles(c, m, n, k, l, s));
      }
    const std::vector<CoreShare> list = SystolicCores(c).product(m, n, k, Shares::kFewestCores);
    std::size_t next = 0;
    double least = 1e300;
    for (const auto& [count, value] : best) {
      if (value >= least) continue;
      least = value;
      RC_ASSERT(next < list.size());
      RC_ASSERT(list[next].cores == count);
      RC_ASSERT(list[next].cycles == value);
      RC_ASSERT(cycles(c, m, n, k, list[next].lanes, list[next].stages) == value);
      RC_ASSERT(list[next].lanes * list[next].stages == count);
      ++next;
    }
    RC_ASSERT(next == list.size());
    const CoreShare fastest = SystolicCores(c).fastest_product(m, n, k);
    RC_ASSERT(fastest.cycles == list.back().cycles);
    RC_ASSERT(fastest.cores == list.back().cores);
  });
}

// A large chip sorts; every choice of the small one is there, and each beats all that need fewer cores.
TEST(SystolicCores, SortedListsAreTheSameAsEnumeratedOnes) {
  rc::check("5,000 cores against all lanes x stages", [] {
    const auto c = chip(5000, 1, 1);
    const Count m = *rc::gen::inRange<Count>(1, 3000), n = *rc::gen::inRange<Count>(1, 60);
    std::map<Count, double> best;
    for (Count l = 1; l <= std::min<Count>(m, c.cores); ++l)
      for (Count s = 1; s <= n && l * s <= c.cores; ++s) {
        const auto [at, fresh] = best.try_emplace(l * s, cycles(c, m, n, 2, l, s));
        if (!fresh) at->second = std::min(at->second, cycles(c, m, n, 2, l, s));
      }
    std::vector<CoreShare> list = SystolicCores(c).product(m, n, 2, Shares::kFewestCores);
    std::size_t next = 0;
    double least = 1e300;
    for (const auto& [count, value] : best) {
      if (value >= least) continue;
      least = value;
      RC_ASSERT(next < list.size());
      RC_ASSERT(list[next].cores == count && list[next].cycles == value);
      ++next;
    }
    RC_ASSERT(next == list.size());
  });
}

TEST(SystolicCores, EveryPairHoldsTheFewestCoresToo) {
  const SystolicCores cores(chip(100, 3, 2));
  const auto all = cores.product(77, 55, 9, Shares::kEveryPair);
  for (const CoreShare& share : cores.product(77, 55, 9, Shares::kFewestCores))
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const CoreShare& other) {
      return other.cores == share.cores && other.lanes == share.lanes && other.cycles == share.cycles;
    }));
}

TEST(SystolicCores, ManyAndFewCoresAgree) {
  const Count m = 5000, n = 700, k = 3;
  const auto many = SystolicCores(chip(5000, 2, 2)).product(m, n, k, Shares::kFewestCores);
  const auto few = SystolicCores(chip(4000, 2, 2)).product(m, n, k, Shares::kFewestCores);
  ASSERT_LE(few.size(), many.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].cores, many[i].cores);
    EXPECT_EQ(few[i].cycles, many[i].cycles);
    EXPECT_EQ(few[i].lanes, many[i].lanes);
  }
}

TEST(SystolicCores, ElementwiseAndChainsUseOneDimension) {
  const SystolicCores cores(chip(10, 4, 4));
  const auto simd = cores.elementwise(100, 7);  // 25 rows of lanes
  EXPECT_EQ(simd.front().cycles, 25 * 7);
  EXPECT_EQ(simd.back().cores, 9);
  EXPECT_EQ(simd.back().cycles, 3 * 7);
  const auto chain = cores.chain(100, 7, 12);  // 9 links
  EXPECT_EQ(chain.front().cycles, 9 * 7);
  EXPECT_EQ(chain.back().cores, 9);
  EXPECT_EQ(chain.back().cycles, 7);
}

TEST(SystolicCores, NothingToDoHasNoChoices) {
  const SystolicCores cores(chip(10, 4, 4));
  EXPECT_TRUE(cores.product(0, 5, 5, Shares::kFewestCores).empty());
  EXPECT_TRUE(cores.elementwise(5, 0).empty());
  EXPECT_TRUE(cores.chain(5, 5, 0).empty());
  EXPECT_EQ(cores.fastest_product(0, 5, 5).cores, 0);
}

TEST(SystolicCores, IsAnOperatorModelOfTheWholeChip) {
  const SystolicCores cores(chip(4, 2, 2), 1e9);
  EXPECT_DOUBLE_EQ(cores.matrix_product_seconds({.batch = 2, .m = 4, .n = 4, .k = 5}), 2 * 5 / 1e9);
  EXPECT_DOUBLE_EQ(cores.elementwise_seconds(80, Precision::kBf16), 10 / 1e9);
  EXPECT_DOUBLE_EQ(cores.memory_bound_seconds(5), 5e-9);
}

TEST(OperatorModel, ElementwiseIsMemoryBoundUnlessAModelKnowsBetter) {
  Accelerator accelerator;
  accelerator.peak_flops_per_s.fill(1e12);
  accelerator.memory_bytes_per_s = 1e12;
  EXPECT_DOUBLE_EQ(FlatEfficiency(accelerator, 0.5).elementwise_seconds(1e6, Precision::kBf16), 2e-6);
  EXPECT_DOUBLE_EQ(Roofline(accelerator).elementwise_seconds(1e6, Precision::kBf16), 4e-6);
}

}  // namespace
}  // namespace orrery::machine
