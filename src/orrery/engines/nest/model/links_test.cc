#include "orrery/engines/nest/model/links.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/model/sliding.h"
#include "orrery/engines/nest/search/brute_force_test_util.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/random_space_test_util.h"
#include "orrery/engines/nest/search/relaxed/link_search.h"

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
      const Traffic forbidden = one.traffic(true, std::vector<ReuseRules>(one.chip.storages.size(), {0, 0, 0, 7}));
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

// A small problem on which instances may hand words on.
testing::Instance random_linked(Dice& dice) {
  testing::Instance instance;
  instance.einsum = dice.once_in(3) ? testing::random_einsum(dice, 6) : testing::random_window(dice);
  testing::ChipChoices choices;
  choices.most_storages = 3;
  instance.chip = testing::random_chip(dice, choices);
  instance.space = testing::random_space(dice, instance.einsum, instance.chip);
  for (ReuseRules& rules : instance.space.reuse)
    if (dice.once_in(4)) rules.no_links = static_cast<std::uint32_t>(dice(0, 7));
  instance.options = ModelOptions::timeloop();
  return instance;
}

TEST(Links, TheSearchEqualsBruteForceOverEveryMappingAndEveryLayout) {
  const char* wanted = std::getenv("ORRERY_LINK_PROBLEMS");
  const int problems = wanted ? std::atoi(wanted) : 400;
  int compared = 0, better = 0;
  for (std::uint64_t seed = 0; compared < problems; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const testing::Instance instance = random_linked(dice);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    if (!model.may_link() || space.size() > 1'500) continue;
    testing::BruteForce expected;
    Evaluation evaluation;
    enumerate(instance.einsum, space, [&](const Mapping& mapping) {
      for_each_layout(
          space, mapping,
          [&](const Mapping& laid) {
            return is_legal(instance.einsum, instance.chip, laid) &&
                   is_allowed(instance.einsum, instance.chip, laid, instance.space);
          },
          [&](const Mapping& laid) {
            model.evaluate(laid, evaluation);
            ++expected.mappings;
            const auto [at, fresh] = expected.least_energy.try_emplace(evaluation.cycles, evaluation.energy_pj);
            if (!fresh) at->second = std::min(at->second, evaluation.energy_pj);
          });
      return true;
    });
    if (expected.empty()) continue;
    ++compared;
    ModelOptions options = instance.options;
    options.link_transfers = false;
    const Model apart(instance.einsum, instance.chip, options, instance.space.reuse);
    for (const Metric metric : {Metric::kEdp, Metric::kEnergy, Metric::kDelay}) {
      const Optimum found = optimize(model, instance.space, {metric});
      ASSERT_EQ(testing::fault_of(found, expected, metric, instance, model), "") << "seed " << seed;
      const Optimum without = optimize(apart, instance.space, {metric});
      better += key_of({metric}, found.evaluation)[0] < key_of({metric}, model.evaluate(*without.mapping))[0] * 0.999;
    }
  }
  EXPECT_GT(better, problems / 20) << "too few problems in which links change the answer";
}

// Every order of all dimensions and every split, at one level after the other.
TEST(Links, EveryLayoutCostsWhatOneOfTheListedDoes) {
  int layouts = 0;
  for (std::uint64_t seed = 0; layouts < 2'000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const testing::Instance instance = random_linked(dice);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    const Mapping mapping = testing::random_legal_mapping(dice, instance.einsum, instance.chip);
    const auto fits = [&](const Mapping& laid) {
      return is_legal(instance.einsum, instance.chip, laid) &&
             is_allowed(instance.einsum, instance.chip, laid, instance.space);
    };
    if (!fits(mapping)) continue;
    std::set<double> listed;
    for_each_layout(space, mapping, fits, [&](const Mapping& laid) { listed.insert(model.evaluate(laid).energy_pj); });
    for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
      Mapping laid = mapping;
      std::vector<int>& order = laid.levels[i].spatial_order;
      std::sort(order.begin(), order.end());
      do {
        for (laid.levels[i].split = 0; laid.levels[i].split <= static_cast<int>(order.size()); ++laid.levels[i].split) {
          if (!fits(laid)) continue;
          ASSERT_TRUE(listed.contains(model.evaluate(laid).energy_pj)) << "seed " << seed;
          ++layouts;
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(Links, NoMappingIsBelowTheScaledChipWithoutThem) {
  int linked = 0;
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const testing::Instance instance = random_linked(dice);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    const LinkBound bound = link_bound(model, space);
    const Model cheap(instance.einsum, bound.chip, bound.options, instance.space.reuse);
    for (int k = 0; k < 10; ++k) {
      const Mapping mapping = testing::random_legal_mapping(dice, instance.einsum, instance.chip);
      if (!is_allowed(instance.einsum, instance.chip, mapping, instance.space)) continue;
      const Evaluation with = model.evaluate(mapping), least = cheap.evaluate(mapping);
      ASSERT_GE(with.energy_pj * (1 + 1e-9), least.energy_pj) << "seed " << seed << " mapping " << k;
      ASSERT_GE(with.cycles, least.cycles) << "seed " << seed << " mapping " << k;
      linked += bound.any;
    }
  }
  EXPECT_GT(linked, 3'000);
}

}  // namespace
}  // namespace orrery::nest
