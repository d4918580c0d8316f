// Rounded sizes against every mapping of every combination of them.
#include "orrery/engines/nest/space/padding.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "orrery/engines/nest/search/brute_force_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;

constexpr int kProblems = 100;
constexpr double kLargestSpace = 40'000, kLargestSum = 300'000;
constexpr std::size_t kMostCombinations = 40;

// Every combination of sizes, the last dimension's fastest.
std::vector<workload::Einsum> all_sizes(const Instance& instance) {
  std::vector<workload::Einsum> all{instance.einsum};
  for (std::size_t d = 0; d < instance.einsum.dimensions.size(); ++d) {
    std::vector<workload::Einsum> longer;
    for (const workload::Einsum& einsum : all)
      for (const Count size : padded_sizes(instance.einsum.dimensions[d].bound, instance.chip)) {
        longer.push_back(einsum);
        longer.back().dimensions[d].bound = size;
      }
    all = std::move(longer);
  }
  return all;
}

TEST(PaddedEqualsBruteForce, OverEverySizeInEdpEnergyAndDelay) {
  const char* wanted = std::getenv("ORRERY_PROBLEMS");
  const int problems = wanted ? std::atoi(wanted) : kProblems;
  int answered = 0, rounded = 0, sliding = 0;
  for (std::uint64_t seed = 0; answered < problems; ++seed) {
    Dice dice = Dice::from_seed(seed);
    Instance instance;
    instance.einsum = dice.once_in(4) ? testing::random_convolution(dice) : testing::random_einsum(dice, 6);
    for (workload::Dimension& dimension : instance.einsum.dimensions)
      if (dice.once_in(2)) dimension.bound = dice.pick({3, 5, 5, 7, 7, 11});
    instance.chip = testing::random_chip(dice);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    std::vector<workload::Einsum> all = all_sizes(instance);
    if (all.size() > kMostCombinations) continue;
    double sum = 0;
    bool small = true;
    for (const workload::Einsum& einsum : all) {
      const double size = Space(einsum, instance.chip, instance.space, shape_of(einsum)).size();
      sum += size;
      small = small && size <= kLargestSpace;
    }
    if (!small || sum > kLargestSum) continue;
    testing::BruteForce expected;
    for (const workload::Einsum& einsum : all) {
      const Model model(einsum, instance.chip, instance.options, instance.space.reuse);
      const testing::BruteForce one =
          testing::brute_force(model, Space(einsum, instance.chip, instance.space, model.shape()));
      expected.mappings += one.mappings;
      for (const auto& [cycles, energy_pj] : one.least_energy) {
        const auto [at, fresh] = expected.least_energy.try_emplace(cycles, energy_pj);
        if (!fresh) at->second = std::min(at->second, energy_pj);
      }
    }
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    for (const Metric metric : {Metric::kEdp, Metric::kEnergy, Metric::kDelay}) {
      const PaddedOptimum found = optimize_padded(model, instance.space, {metric}, {});
      Instance of_found = instance;
      of_found.einsum = found.einsum;
      const Model priced(found.einsum, instance.chip, instance.options, instance.space.reuse);
      ASSERT_EQ(testing::fault_of(found.optimum, expected, metric, of_found, priced), "") << "seed " << seed << "\n"
                                                                                          << describe(instance);
      EXPECT_EQ(found.sizes, all.size());
      rounded += !found.rounded.empty();
    }
    answered += !expected.empty();
    sliding += shape_of(instance.einsum).sliding;
  }
  // Rounding helped now and then, and windows took part.
  EXPECT_GT(rounded, answered / 20);
  EXPECT_GT(sliding, answered / 20);
}

TEST(PaddedSizes, AreMultiplesOfPowersOfTwoAndOfSidesBelowTwiceTheSize) {
  machine::Chip chip;
  chip.storages.resize(1);
  chip.storages[0].mesh_x = chip.storages[0].mesh_y = 1;
  chip.compute.mesh_x = 12;
  chip.compute.mesh_y = 14;
  EXPECT_EQ(padded_sizes(197, chip), (std::vector<Count>{197, 198, 200, 203, 204, 208, 210, 224, 256}));
  EXPECT_EQ(padded_sizes(1, chip), (std::vector<Count>{1}));
}

TEST(PaddedSizes, ALargePrimeFactorMakesADimensionAwkward) {
  workload::Einsum einsum = workload::matmul("product", 197, 64, 3072);
  EXPECT_EQ(awkward_dimensions(einsum), (std::vector<int>{einsum.dimension_index("D")}));
  EXPECT_TRUE(awkward_dimensions(workload::matmul("product", 196, 64, 3072)).empty());
  // 4224 = 11 * 384 has divisors enough.
  EXPECT_TRUE(awkward_dimensions(workload::matmul("product", 196, 64, 4224)).empty());
}

}  // namespace
}  // namespace orrery::nest
