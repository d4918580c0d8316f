#include "orrery/nest/links.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "orrery/nest/floor.h"
#include "orrery/nest/model.h"
#include "orrery/nest/objective.h"
#include "orrery/nest/random_space_test_util.h"
#include "orrery/nest/sliding.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

// 4 x 2 instances of one rank that lie `right` apart along a row and `down` apart along a column.
Grid grid_of(Count right, Count down) {
  Grid grid{4, {}};
  for (Count y = 0; y < 2; ++y)
    for (Count x = 0; x < 4; ++x) grid.positions.push_back({right * x + down * y});
  return grid;
}

LinkedWords words(const Grid& grid, Count side, std::vector<Loop> loops, Keeping keeping, bool shared = true) {
  return words_with_links(1, {side}, loops, grid, keeping, shared);
}

TEST(Links, ARowThatMovesByOneInstanceReadsOnlyAtItsEnd) {
  // Ten steps of one word: all four columns at first, then one more each; rows want the same.
  const LinkedWords got = words(grid_of(1, 0), 1, {{10, {1}}}, Keeping::kBoxes);
  EXPECT_EQ(got.accesses, 4 + 9 * 1);
  EXPECT_EQ(got.deliveries, 8 + 9 * 2);
  EXPECT_EQ(got.links, 9 * 6);
}

TEST(Links, AStepLongerThanTheWayToANeighbourLinksNothing) {
  const LinkedWords got = words(grid_of(1, 0), 1, {{10, {2}}}, Keeping::kBoxes);
  EXPECT_EQ(got.accesses, 10 * 4);
  EXPECT_EQ(got.links, 0);
}

TEST(Links, ComputeUnitsThatWantTheSameWordAgainTakeItFromEachOther) {
  // Rows share each word: at the second step every unit's neighbour below or above has it.
  const LinkedWords got = words(grid_of(1, 0), 1, {{10, {0}}}, Keeping::kPoints);
  EXPECT_EQ(got.accesses, 4);
  EXPECT_EQ(got.links, 9 * 8);
}

TEST(Links, AStepThatBringsNothingMakesTheNeighboursForget) {
  const LinkedWords got = words(grid_of(1, 0), 1, {{10, {1}}, {2, {0}}}, Keeping::kBoxes);
  EXPECT_EQ(got.accesses, 10 * 4);
  EXPECT_EQ(got.links, 0);
}

TEST(Links, WithoutSharingEachInstanceReadsItsOwn) {
  const LinkedWords got = words(grid_of(1, 0), 1, {{10, {1}}}, Keeping::kBoxes, false);
  EXPECT_EQ(got.accesses, 8 + 9 * 2);
  EXPECT_EQ(got.links, 9 * 6);
}

struct Case {
  workload::Einsum einsum;
  machine::Chip chip;
  Mapping mapping;

  Case(Dice& dice, bool convolution) {
    einsum = convolution ? testing::random_convolution(dice) : testing::random_einsum(dice);
    chip = testing::random_chip(dice);
    mapping = testing::random_legal_mapping(dice, einsum, chip);
  }
  Traffic traffic(bool linked, const std::vector<ReuseRules>& reuse = {}) const {
    Traffic out;
    sliding(einsum, shape_of(einsum), mapping, reuse, out, linked ? &chip : nullptr);
    return out;
  }
};

// Timeloop's claim that products never link, which holds but for compute units.
TEST(Links, OutsideTheInnermostStorageProductsLinkNothing) {
  EXPECT_TRUE(rc::check("no links", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Case one(dice, false);
      const Traffic with = one.traffic(true), without = one.traffic(false);
      for (std::size_t i = 1; i < one.chip.storages.size(); ++i)
        for (std::size_t s = 0; s < one.einsum.dataspaces.size(); ++s) {
          RC_ASSERT(with.links[i][s] == 0);
          RC_ASSERT(with.accesses[i][s] == without.accesses[i][s]);
          RC_ASSERT(with.deliveries[i][s] == without.deliveries[i][s]);
        }
    }
  }));
}

TEST(Links, ReadsFallAndWhatIsNotReadComesFromNeighbours) {
  int linked = 0;
  EXPECT_TRUE(rc::check("words are conserved", [&] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Case one(dice, true);
      const Traffic with = one.traffic(true), without = one.traffic(false);
      const Traffic forbidden = one.traffic(true, std::vector<ReuseRules>(one.chip.storages.size(), {0, 0, 0, 0, 7}));
      for (std::size_t i = 0; i < one.chip.storages.size(); ++i)
        for (int s = 0; s < 3; ++s) {
          RC_ASSERT(with.accesses[i][s] <= without.accesses[i][s]);
          if (i > 0) RC_ASSERT(with.deliveries[i][s] + with.links[i][s] == without.deliveries[i][s]);
          RC_ASSERT(forbidden.accesses[i][s] == without.accesses[i][s]);
          linked += with.links[i][s] > 0;
        }
    }
  }));
  EXPECT_GT(linked, 15);
}

TEST(Links, ASearchWithThemClaimsNoProofItDoesNotHave) {
  int linked = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice = Dice::from_seed(seed);
    testing::Instance instance = testing::random_instance(dice);
    instance.options = ModelOptions::timeloop();
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    SearchLimits limits;
    limits.seconds = 5;
    const Optimum found = optimize(model, instance.space, {Metric::kEdp}, limits);
    if (!found.mapping) continue;
    EXPECT_EQ(found.evaluation.energy_pj, model.evaluate(*found.mapping).energy_pj);
    EXPECT_NE(found.certificate.optimal, model.may_link());
    EXPECT_LE(found.certificate.lower_bound, found.evaluation.edp_j_cycles * (1 + kEqual));
    linked += model.may_link();
  }
  EXPECT_GT(linked, 20);
}

}  // namespace
}  // namespace orrery::nest
