// Stages side by side against a literal run of all rounds, and the laws of `--overlap`.
#include "orrery/inputs/blocks/block_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/inputs/blocks/block_groups.h"
#include "orrery/inputs/blocks/random_group_test_util.h"
#include "orrery/verbs/map/fuse/native_tree.h"

namespace orrery::verbs {
namespace {

using testing::block_problems;
using testing::Count;
using testing::Dice;
using testing::draw;
using testing::Drawn;

// A group whose rounds are all run, event by event.
class LiteralRun {
 public:
  LiteralRun(const Chain& chain, const Group& group)
      : group_(group), rounds_(chain[group.parts[0].place].question.instances * group.turns.all()) {
    for (const GroupPart& part : group.parts) {
      alone_.push_back(static_cast<double>(part.cost.cycles) / static_cast<double>(group.turns.all()));
      busy_.push_back(busy_of(chain, part));
      for (auto& [resource, cycles] : busy_.back()) cycles /= static_cast<double>(group.turns.all());
    }
    ended_.assign(group.parts.size(), 0);
    left_ = alone_;
  }

  double cycles() {
    double now = 0;
    while (ended_.back() < rounds_) {
      const std::map<std::size_t, double> running = begin();
      double most = 0;
      std::map<std::string, double> load;
      for (const auto& [p, cycles_left] : running) {
        most = std::max(most, cycles_left);
        for (const auto& [resource, cycles] : busy_[p]) load[resource] += cycles_left * cycles / alone_[p];
      }
      for (const auto& [resource, cycles] : load) most = std::max(most, cycles);
      double until = std::numeric_limits<double>::infinity();
      std::map<std::string, double> used;
      for (const auto& [p, cycles_left] : running) {
        const double speed = cycles_left / most;
        EXPECT_LE(speed, 1 + 1e-9);
        for (const auto& [resource, cycles] : busy_[p]) used[resource] += speed * cycles / alone_[p];
        until = std::min(until, left_[p] / speed);
      }
      for (const auto& [resource, share] : used) EXPECT_LE(share, 1 + 1e-9) << resource;
      for (const auto& [p, cycles_left] : running) end_after(p, until * cycles_left / most);
      now += until;
    }
    return now;
  }

 private:
  std::size_t behind(std::size_t stage) const {
    return stage + 1 < group_.stages.size() ? group_.stages[stage + 1] : group_.parts.size();
  }
  // The parts that run now, of each thread one, with the cycles alone that its thread has left in this step.
  std::map<std::size_t, double> begin() {
    std::map<std::size_t, double> out;
    for (int tries = 0; out.empty() && tries < 2; step_ += out.empty(), ++tries)
      for (std::size_t thread = 0; thread < group_.threads; ++thread) {
        std::optional<std::size_t> now;
        for (std::size_t s = thread; s < group_.stages.size(); s += group_.threads) {
          const Count round = step_ - static_cast<Count>(s);
          if (round < 0 || round >= rounds_) continue;
          for (std::size_t p = group_.stages[s]; p < behind(s); ++p) {
            if (ended_[p] > round) continue;
            EXPECT_EQ(ended_[p], round);
            if (!now) {
              EXPECT_TRUE(p == 0 || ended_[p - 1] > round) << "what a part takes is made in an earlier step";
              now = p;
            }
            out[*now] += left_[p];
          }
        }
      }
    return out;
  }
  void end_after(std::size_t part, double done) {
    left_[part] -= done;
    if (left_[part] > 1e-12 * alone_[part]) return;
    left_[part] = alone_[part];
    ++ended_[part];
  }

  const Group& group_;
  const Count rounds_;
  Count step_ = 0;
  std::vector<double> alone_, left_;
  std::vector<std::map<std::string, double>> busy_;
  std::vector<Count> ended_;  // rounds of each part
};

// A group with room, of several equal copies, in random stages.
std::optional<Drawn> staged(Dice& dice) {
  std::optional<Drawn> drawn = draw(dice);
  if (!drawn) return drawn;
  const Count copies = dice.pick({1, 1, 2, 5});
  for (ChainLink& link : drawn->chain.links) link.question.instances = copies;
  for (std::size_t p = 1; p < drawn->group.parts.size(); ++p)
    if (may_begin_stage(drawn->chain, drawn->group, p) && dice(0, 2) > 0) drawn->group.stages.push_back(p);
  if (drawn->group.stages.size() > 1)
    drawn->group.threads = static_cast<std::size_t>(dice(2, static_cast<Count>(drawn->group.stages.size())));
  return drawn;
}

TEST(BlockOverlap, TakesAsManyCyclesAsALiteralRunOfAllRoundsAndNoMoreThanOneAfterTheOther) {
  int compared = 0, faster = 0;
  for (int seed = 0; compared < block_problems(1000); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    std::optional<Drawn> drawn = staged(dice);
    if (!drawn || drawn->group.stages.size() < 2) continue;
    ++compared;
    const double cycles = staged_cycles(drawn->chain, drawn->group);
    EXPECT_NEAR(cycles, LiteralRun(drawn->chain, drawn->group).cycles(), 1e-6 * cycles) << seed;
    const auto copies = static_cast<double>(drawn->chain[0].question.instances);
    double sequential = 0;
    std::map<std::string, double> all;
    for (const GroupPart& part : drawn->group.parts) {
      sequential += copies * static_cast<double>(part.cost.cycles);
      for (const auto& [resource, one] : busy_of(drawn->chain, part)) all[resource] += copies * one;
    }
    ASSERT_LE(cycles, sequential * (1 + 1e-9)) << seed;
    for (const auto& [resource, one] : all) ASSERT_GE(cycles * (1 + 1e-9), one) << seed << ", " << resource;
    faster += cycles < 0.99 * sequential;
  }
  EXPECT_GT(faster, compared / 10);
}

TEST(BlockOverlap, ResourcesAreBusyForNoLongerThanTheirOperatorRunsAndTheSlowestAsLong) {
  int compared = 0, slowed = 0;
  for (int seed = 0; compared < block_problems(1000); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const std::optional<Drawn> drawn = draw(dice);
    if (!drawn) continue;
    for (const GroupPart& part : drawn->group.parts) {
      ++compared;
      double most = 0;
      for (const auto& [resource, cycles] : busy_of(drawn->chain, part)) most = std::max(most, cycles);
      ASSERT_NEAR(most, static_cast<double>(part.cost.active_cycles), 1e-9 * most) << seed;
      slowed += part.cost.active_cycles > part.cost.compute.cycles;
    }
  }
  EXPECT_GT(slowed, compared / 10);
}

TEST(BlockOverlap, StagesHaveNoMoreRoomThanTheirPartsOneAfterTheOtherAndLeakNoLonger) {
  int compared = 0, tighter = 0;
  for (int seed = 0; compared < block_problems(1000); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    std::optional<Drawn> drawn = staged(dice);
    if (!drawn || drawn->group.stages.size() < 2) continue;
    ++compared;
    Group apart = drawn->group;
    apart.stages = {0};
    apart.threads = 1;
    const bool has_room = fits(drawn->chain, apart), staged_room = fits(drawn->chain, drawn->group);
    ASSERT_TRUE(has_room || !staged_room) << seed;
    tighter += has_room && !staged_room;
    if (!has_room) continue;
    add_up(drawn->chain, apart);
    Group chosen = apart;
    choose_stages(drawn->chain, chosen);
    ASSERT_LE(chosen.cycles, apart.cycles) << seed;
    ASSERT_LE(chosen.energy_pj, apart.energy_pj) << seed;
    ASSERT_TRUE(fits(drawn->chain, chosen)) << seed;
    if (!staged_room) continue;
    for (std::size_t p = 0; p < apart.parts.size(); ++p)
      for (std::size_t l = 0; l < apart.parts[p].beside.size(); ++l)
        ASSERT_GE(drawn->group.parts[p].beside[l] + kept(drawn->chain, drawn->group.parts[p], apart.turns, l).second,
                  apart.parts[p].beside[l])
            << seed;
    add_up(drawn->chain, drawn->group);
    ASSERT_LE(chosen.cycles, drawn->group.cycles * (1 + 1e-9)) << seed;
    const std::vector<Group> read = groups_of(drawn->chain, nodes_of(drawn->chain, {drawn->group}), {});
    ASSERT_EQ(read.at(0).stages, drawn->group.stages) << seed;
    ASSERT_EQ(read[0].threads, drawn->group.threads) << seed;
    ASSERT_EQ(read[0].cycles, drawn->group.cycles) << seed;
    ASSERT_EQ(read[0].energy_pj, drawn->group.energy_pj) << seed;
  }
  EXPECT_GT(tighter, 0);
}

TEST(BlockOverlap, NeverHurtsAWholeBlockAndItsBoundIsNotAboveGroupsThatAreDrawn) {
  int compared = 0;
  for (int seed = 0; compared < block_problems(30); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const std::optional<Drawn> drawn = staged(dice);
    if (!drawn) continue;
    Chain chain = drawn->chain;
    chain.links.resize(chain.length);
    ++compared;
    for (const fused::Goal goal : {fused::Goal::kEdp, fused::Goal::kEnergy, fused::Goal::kDelay}) {
      const auto figure = [&](const std::vector<Group>& groups) {
        const double energy = energy_of(groups), cycles = cycles_of(groups);
        return goal == fused::Goal::kEnergy ? energy : goal == fused::Goal::kDelay ? cycles : energy * cycles / 1e12;
      };
      GroupOptions how;
      how.goal = goal;
      const GroupedChain apart = group_chain(chain, how, {});
      how.overlap = true;
      const GroupedChain found = group_chain(chain, how, {});
      ASSERT_LE(figure(found.best), figure(apart.best) * (1 + 1e-9)) << seed;
      Group group = drawn->group;
      if (!fits(drawn->chain, group)) continue;
      add_up(drawn->chain, group);
      ASSERT_LE(found.certificate.lower_bound, figure({group}) * (1 + 1e-9)) << seed;
    }
  }
}

}  // namespace
}  // namespace orrery::verbs
