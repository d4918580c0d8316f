// The bound of a chain against every plan of small ones: all groups, all turns, all mappings.
#include "orrery/inputs/blocks/group_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/inputs/blocks/random_group_test_util.h"

namespace orrery::verbs {
namespace {

using testing::Count;
using testing::Dice;

constexpr double kLargestSpace = 2'000;  // mappings of an operator that are enumerated

// Pairs of energy and cycles that no other one beats.
using Front = std::vector<std::pair<double, double>>;

void add(Front& front, double energy, double cycles) {
  for (const auto& [e, c] : front)
    if (e <= energy && c <= cycles) return;
  std::erase_if(front, [&](const auto& one) { return one.first >= energy && one.second >= cycles; });
  front.emplace_back(energy, cycles);
}

Front sums(const Front& a, const Front& b) {
  Front out;
  for (const auto& [ea, ca] : a)
    for (const auto& [eb, cb] : b) add(out, ea + eb, ca + cb);
  return out;
}

// All mappings of a part of a group, whatever room the others need; `alone`: of an operator by itself.
bool front_of(const Chain& chain, const Turns& turns, GroupPart part, bool alone, Front& front) {
  const LayerQuestion& question = chain[part.place].question;
  const workload::Einsum turn = testing::turn_einsum(chain, turns, part);
  nest::Mapspace space = question.space;
  for (std::size_t l = innermost_exchange(part) + 1; l < question.chip->storages.size() && !alone; ++l)
    for (int d = 0; d < static_cast<int>(turn.dimensions.size()); ++d) {
      nest::Constraint once;
      once.level = static_cast<int>(l);
      once.dimension = d;
      space.constraints.push_back(once);
      once.spatial = true;  // but columns, which may be spread over any number of instances
      if (d != turn.dimension_index("L")) space.constraints.push_back(std::move(once));
    }
  const nest::Model model(turn, *question.chip, {}, {});
  const nest::Space all(turn, *question.chip, space, model.shape());
  if (all.size() > kLargestSpace) return false;
  nest::enumerate(turn, all, [&](const nest::Mapping& mapping) {
    part.mapping = mapping;
    if (part.takes) part.mapping.levels[*part.takes].keep |= 1U << turn.dataspace_index("Inputs");
    if (part.hands_on) part.mapping.levels[*part.hands_on].keep |= 1U << turn.dataspace_index("Outputs");
    alone ? keep_inside(chain, part) : repeat(chain, turns, part);
    if (price(chain, part, {})) add(front, part.cost.energy_pj, static_cast<double>(part.cost.cycles));
    return true;
  });
  return true;
}

// All plans of a chain; false where there are too many.
bool enumerate_plans(const Chain& chain, Front& all) {
  std::vector<Front> until(chain.length + 1);
  until[0] = {{0, 0}};
  const auto join = [&](std::size_t first, std::size_t behind, const Chain& of, const Group& group) {
    Front front = until[first];
    for (const GroupPart& part : group.parts) {
      Front one;
      if (!front_of(of, group.turns, part, group.parts.size() == 1, one)) return false;
      front = sums(front, one);
    }
    for (const auto& [energy, cycles] : front) add(until[behind], energy, cycles);
    return true;
  };
  for (std::size_t behind = 1; behind <= chain.length; ++behind)
    for (std::size_t first = 0; first < behind; ++first) {
      const Count columns = behind > first + 1 ? bound_of(chain[first].question, "L") : 1;
      for (const std::vector<std::string>& way : ways_to_hand_on(chain, first, behind - 1))
        for (const Count c : base::divisors(columns)) {
          if (!join(first, behind, chain, plain_group(chain, first, behind - 1, c, way))) return false;
          if (behind != first + 3 || !is_attention(chain, first + 1) || way[0] != way[1]) continue;
          for (const Count k : base::divisors(bound_of(chain[first].question, "D"))) {
            Chain with = chain;
            const Group online = online_core(with, first + 1, {c, k}, true, way[0]);
            if (!join(first, behind, with, online)) return false;
          }
        }
    }
  all = until.back();
  return true;
}

double least(const Front& front, fused::Goal goal) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [energy, cycles] : front)
    best = std::min(best, goal == fused::Goal::kEnergy  ? energy
                          : goal == fused::Goal::kDelay ? cycles
                                                        : energy * cycles / 1e12);
  return best;
}

TEST(GroupBound, IsNotAboveAnyPlanAndNoPlanThatIsFoundIsBelowTheLeast) {
  int compared = 0;
  for (int seed = 0; compared < testing::block_problems(40) && seed < 100'000; ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const Chain chain = testing::with_some_weights(dice, testing::random_chain(dice, dice(0, 1) == 1, 3));
    if (chain.length != 3 || !chain[0].hands_on || !chain[1].hands_on) continue;
    Front all;
    if (!enumerate_plans(chain, all) || all.empty()) continue;
    ++compared;
    for (const fused::Goal goal : {fused::Goal::kEdp, fused::Goal::kEnergy, fused::Goal::kDelay}) {
      GroupOptions how;
      how.goal = goal;
      const GroupedChain found = group_chain(chain, how, {});
      ASSERT_FALSE(found.best.empty()) << seed;
      const double energy = energy_of(found.best), cycles = cycles_of(found.best);
      const double best = least(all, goal);
      ASSERT_LE(found.certificate.lower_bound, best * (1 + 1e-9)) << seed;
      ASSERT_GE(least({{energy, cycles}}, goal) * (1 + 1e-9), best) << seed;
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace orrery::verbs
