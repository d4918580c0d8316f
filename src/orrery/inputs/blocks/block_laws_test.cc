// What must hold of blocks of random chains, whatever the chip.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "orrery/inputs/blocks/block_groups.h"
#include "orrery/inputs/blocks/random_group_test_util.h"

namespace orrery::verbs {
namespace {

using testing::Dice;

double value(fused::Goal goal, const std::vector<Group>& groups) {
  if (groups.empty()) return std::numeric_limits<double>::infinity();
  const double energy = energy_of(groups), cycles = cycles_of(groups);
  return goal == fused::Goal::kEnergy ? energy : goal == fused::Goal::kDelay ? cycles : energy * cycles;
}

double best(const Chain& chain, const GroupOptions& how) {
  return value(how.goal, group_chain(chain, how, {}).best);
}

Chain with_capacity(const Chain& chain, base::Count factor) {
  Chain out = chain;
  machine::Chip larger = *chain[0].question.chip;
  for (machine::Storage& storage : larger.storages)
    if (storage.capacity_words) *storage.capacity_words *= factor;
  const auto made = std::make_shared<const machine::Chip>(std::move(larger));
  for (ChainLink& link : out.links) link.question.chip = made;
  return out;
}

constexpr int kUsual = 16;
constexpr fused::Goal kGoals[] = {fused::Goal::kEdp, fused::Goal::kEnergy, fused::Goal::kDelay};

TEST(BlockLaws, OneMoreFreedomNeverHurts) {
  int fused = 0, online = 0;
  for (int seed = 0; seed < testing::block_problems(kUsual); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const Chain chain = testing::random_chain(dice, dice(0, 1) == 1);
    for (const fused::Goal goal : kGoals) {
      GroupOptions how;
      how.goal = goal;
      const double free = best(chain, how) * (1 - 1e-12);
      const auto without = [&](const auto& change) {
        GroupOptions less = how;
        change(less);
        return best(chain, less);
      };
      const double apart = without([](GroupOptions& less) { less.fuse = false; });
      EXPECT_LE(free, apart) << seed;
      fused += free < apart * (1 - 1e-9) ? 1 : 0;
      EXPECT_LE(free, without([](GroupOptions& less) { less.tiles = false; })) << seed;
      const double columns = without([](GroupOptions& less) { less.softmax = Softmax::kMultipass; });
      EXPECT_LE(free, columns) << seed;
      online += free < columns * (1 - 1e-9) ? 1 : 0;
      EXPECT_LE(free, without([](GroupOptions& less) { less.softmax = Softmax::kOnline; })) << seed;
      EXPECT_LE(without([](GroupOptions& more) { more.overlap = true; }) * (1 - 1e-12), best(chain, how)) << seed;
    }
  }
  EXPECT_GT(fused, 0);
  EXPECT_GT(online, 0);
}

TEST(BlockLaws, MoreCapacityNeverHurts) {
  for (int seed = 0; seed < testing::block_problems(kUsual); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const Chain chain = testing::random_chain(dice, dice(0, 1) == 1), larger = with_capacity(chain, 2);
    for (const fused::Goal goal : kGoals)
      for (const bool fuse : {false, true}) {
        GroupOptions how;
        how.goal = goal;
        how.fuse = fuse;
        EXPECT_LE(best(larger, how), best(chain, how) * (1 + 1e-12)) << seed;
      }
  }
}

// Groups that are mapped for the least energy give a better product of the sums to none.
TEST(BlockLaws, TheBestProductIsNotBetterOnTheFront) {
  for (int seed = 0; seed < testing::block_problems(kUsual); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const Chain chain = testing::random_chain(dice, dice(0, 1) == 1);
    const GroupOptions how;
    GroupedChain found = group_chain(chain, how, {});
    const double alone = value(how.goal, found.best);
    GroupOptions saving = how;
    saving.goal = fused::Goal::kEnergy;
    include(found, how, group_chain(chain, saving, {}));
    for (const std::vector<Group>& trade : best_trades(found, how))
      EXPECT_LE(alone, value(how.goal, trade) * (1 + 1e-12)) << seed;
  }
}

}  // namespace
}  // namespace orrery::verbs
