// Groups of operators against a literal reading: every turn is run, and what a storage holds is written down.
#include "orrery/inputs/blocks/block_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orrery/inputs/blocks/group_bound.h"
#include "orrery/inputs/blocks/random_group_test_util.h"
#include "orrery/verbs/map/fuse/native_tree.h"

namespace orrery::verbs {
namespace {

using testing::block_problems;
using testing::Count;
using testing::Dice;
using testing::draw;
using testing::Drawn;

// Which tile of a dataspace is in a storage when a turn begins and when it ends, by walking all loops outside of it.
struct Seen {
  std::vector<Count> first, last;
};
std::vector<Seen> tiles_seen(const LayerQuestion& question, const GroupPart& part, const Turns& turns,
                             std::size_t level, int dataspace) {
  std::vector<std::pair<int, Count>> loops;  // outside in
  for (std::size_t l = part.mapping.levels.size(); l-- > level + 1;) {
    const nest::LevelMapping& one = part.mapping.levels[l];
    for (auto d = one.temporal_order.rbegin(); d != one.temporal_order.rend(); ++d)
      loops.emplace_back(*d, one.temporal[static_cast<std::size_t>(*d)]);
  }
  Count steps = 1;
  for (const auto& loop : loops) steps *= loop.second;
  const Count own_turns = columns_of(part, turns) * (part.keys >= 0 ? turns.keys : 1);
  std::vector<Seen> seen(static_cast<std::size_t>(own_turns));
  for (Count step = 0; step < steps; ++step) {
    std::vector<Count> tile;
    Count rest = step;
    for (std::size_t i = loops.size(); i-- > 0;) {
      const Count at = rest % loops[i].second;
      rest /= loops[i].second;
      if (question.einsum.relevant(dataspace, loops[i].first)) tile.push_back(at);
    }
    Seen& turn = seen[static_cast<std::size_t>(step / (steps / own_turns))];
    if (step % (steps / own_turns) == 0) turn.first = tile;
    turn.last = tile;
  }
  return seen;
}

// Weights that stay in a storage from run to run, which nothing of a run brings there.
bool is_resident(const ChainLink& link, std::size_t level, std::size_t dataspace) {
  return link.weights_stay && link.stay_in == level && link.question.einsum.dataspaces[dataspace].name == "Weights";
}

// The most that an instance of a storage holds while a part works, over all turns.
std::vector<Count> most_held(const Chain& chain, const Group& group, std::size_t level) {
  const auto turns = static_cast<std::size_t>(group.turns.all());
  const std::size_t parts = group.parts.size();
  std::vector<std::vector<Count>> held(turns, std::vector<Count>(parts, 0));
  for (std::size_t p = 0; p < parts; ++p) {
    const GroupPart& part = group.parts[p];
    const ChainLink& link = chain[part.place];
    for (std::size_t s = 0; s < link.question.einsum.dataspaces.size(); ++s) {
      const bool made = link.question.einsum.dataspaces[s].read_write;
      const bool exchange = (made ? part.hands_on : part.takes) == level;
      const nest::DataspaceCost& one = part.cost.storages[level].dataspaces[s];
      const bool stays = is_resident(link, level, s);
      if (!one.kept || stays || (exchange && (link.in_place >> s & 1U) != 0)) continue;
      const std::vector<Seen> seen = tiles_seen(link.question, part, group.turns, level, static_cast<int>(s));
      const bool always = exchange && (link.lasts >> s & 1U) != 0;
      std::size_t taker = p;  // the last part that takes it from the exchange level in the same turn
      if (exchange && made && link.in_place == 0)
        for (std::size_t q = p + 1; q < parts; ++q)
          if (group.parts[q].takes && chain[group.parts[q].place].takes == link.makes) taker = q;
      for (std::size_t t = 0; t < turns; ++t) {
        const bool after = always || (t + 1 < turns && seen[t].last == seen[t + 1].first);
        const bool before = always || (t > 0 && seen[t - 1].last == seen[t].first);
        for (std::size_t now = 0; now < parts; ++now) {
          const bool takes_it = now > p && now <= taker && chain[group.parts[now].place].takes == link.makes &&
                                group.parts[now].takes && chain[group.parts[now].place].in_place == 0;
          if (now == p || (now > p && after) || (now < p && before) || (now > p && now < taker && !takes_it))
            held[t][now] += one.tile_words;
        }
      }
    }
  }
  std::vector<Count> most(parts, 0);
  for (const std::vector<Count>& turn : held)
    for (std::size_t p = 0; p < parts; ++p) most[p] = std::max(most[p], turn[p]);
  return most;
}

std::string shown(const Drawn& drawn) {
  std::string text = "turns " + std::to_string(drawn.group.turns.columns) + " x " +
                     std::to_string(drawn.group.turns.keys) + (drawn.group.online ? " online" : "");
  for (const GroupPart& part : drawn.group.parts) text += ", " + drawn.chain[part.place].question.name;
  return text;
}

TEST(BlockCost, StoragesHoldWhatALiteralRunOfAllTurnsFindsInThem) {
  int compared = 0, full = 0;
  for (int seed = 0; compared < block_problems(1500); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    std::optional<Drawn> drawn = draw(dice);
    if (!drawn) continue;
    ++compared;
    bool room = true;
    std::vector<std::vector<Count>> most;
    for (std::size_t l = 0; l + 1 < drawn->chain[0].question.chip->storages.size(); ++l) {
      most.push_back(most_held(drawn->chain, drawn->group, l));
      for (std::size_t p = 0; p < drawn->group.parts.size(); ++p) {
        const ChainLink& link = drawn->chain[drawn->group.parts[p].place];
        const auto usable = link.question.chip->usable_words(static_cast<int>(l));
        Count own = 0;
        for (std::size_t s = 0; s < link.question.einsum.dataspaces.size(); ++s)
          if (is_resident(link, l, s)) own = words_of(link.question, static_cast<int>(s));
        room = room && (!usable || most.back()[p] + own <= *usable);
      }
    }
    const bool fit = fits(drawn->chain, drawn->group);
    const Turns& turns = drawn->group.turns;
    // With two turns only, nothing lasts on both sides of one, which the count does not look at.
    const bool exact = (turns.keys > 1 ? turns.keys : turns.columns) != 2;
    ASSERT_TRUE(room || !fit) << seed << ": " << shown(*drawn);
    ASSERT_TRUE(fit == room || !exact) << seed << ": " << shown(*drawn);
    full += !fit;
    for (std::size_t l = 0; fit && l < most.size(); ++l)
      for (std::size_t p = 0; p < drawn->group.parts.size(); ++p) {
        const GroupPart& part = drawn->group.parts[p];
        const auto [lasting, passing] = kept(drawn->chain, part, turns, l);
        const Count counted = lasting + passing + part.beside[l];
        ASSERT_GE(counted, most[l][p]) << seed << ": " << shown(*drawn) << ", storage " << l << ", part " << p;
        ASSERT_TRUE(counted == most[l][p] || !exact) << seed << ": " << shown(*drawn) << ", storage " << l << ", part "
                                                     << p << ": " << counted << " counted, " << most[l][p] << " held";
      }
  }
  EXPECT_GT(full, compared / 20);
  EXPECT_LT(full, compared / 2);
}

// Which part of a matrix each instance of a storage has, by walking all loops outside of it: its place in the fan-outs,
// the first column and row that it has at a time, and how many.
std::set<std::vector<Count>> parts_by_instance(const LayerQuestion& question, const GroupPart& part, std::size_t level,
                                               const char* matrix) {
  struct Loop {
    int dimension = 0;
    Count count = 1, axis = 0;  // 0: over time
  };
  std::vector<Loop> loops;  // outside in
  Count steps = 1;
  for (std::size_t l = part.mapping.levels.size(); l-- > level + 1;) {
    const nest::LevelMapping& one = part.mapping.levels[l];
    for (auto d = one.temporal_order.rbegin(); d != one.temporal_order.rend(); ++d)
      loops.push_back({*d, one.temporal[static_cast<std::size_t>(*d)]});
    for (int i = static_cast<int>(one.spatial_order.size()); i-- > 0;) {
      const int d = one.spatial_order[static_cast<std::size_t>(i)];
      const Count axis = 2 * static_cast<Count>(l) + (i < one.split ? 1 : 2);
      loops.push_back({d, one.spatial[static_cast<std::size_t>(d)], axis});
    }
  }
  for (const Loop& loop : loops) steps *= loop.count;
  std::set<std::vector<Count>> out;
  for (Count step = 0; step < steps; ++step) {
    std::vector<Count> many, first(question.einsum.dimensions.size(), 0), instance;
    for (const workload::Dimension& d : question.einsum.dimensions) many.push_back(d.bound);
    Count inside = steps;
    for (const Loop& loop : loops) {
      inside /= loop.count;
      const Count at = step / inside % loop.count;
      const auto d = static_cast<std::size_t>(loop.dimension);
      many[d] /= loop.count;
      first[d] += at * many[d];
      if (loop.axis > 0 && at > 0) instance.insert(instance.end(), {-1, loop.axis, at});
    }
    const int columns = question.einsum.dimension_index("L"), s = question.einsum.dataspace_index(matrix);
    for (int d = 0; d < static_cast<int>(many.size()); ++d)
      if (question.einsum.relevant(s, d) || d == columns)
        instance.insert(d == columns ? instance.begin() : instance.end(),
                        {first[static_cast<std::size_t>(d)], many[static_cast<std::size_t>(d)]});
    out.insert(std::move(instance));
  }
  return out;
}

TEST(BlockCost, EachInstanceTakesTheColumnsThatItMadeOrTheGroupIsRefused) {
  int compared = 0, refused = 0, spread = 0;
  for (int seed = 0; compared < block_problems(1500); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    std::optional<Drawn> drawn = draw(dice);
    if (!drawn) continue;
    Group& group = drawn->group;
    ASSERT_TRUE(hands_on_whole(drawn->chain, group)) << seed << ": " << shown(*drawn);
    if (dice(0, 1) == 1) {  // one operator goes along the other side of the fan-outs, or does not spread at all
      GroupPart& other = group.parts[static_cast<std::size_t>(dice(0, static_cast<Count>(group.parts.size()) - 1))];
      const auto columns = static_cast<std::size_t>(drawn->chain[other.place].question.einsum.dimension_index("L"));
      const bool turned = dice(0, 1) == 1;
      const std::size_t exchange = innermost_exchange(other);
      for (std::size_t l = exchange + 1; l < other.mapping.levels.size(); ++l) {
        nest::LevelMapping& level = other.mapping.levels[l];
        if (level.spatial[columns] == 1) continue;
        if (turned)
          level.split = level.split > 0 ? 0 : static_cast<int>(level.spatial_order.size());
        else
          other.mapping.levels[exchange].temporal[columns] *= std::exchange(level.spatial[columns], 1);
      }
    }
    ++compared;
    bool same = true;
    for (const GroupPart& taker : group.parts)
      for (const GroupPart& maker : group.parts) {
        const ChainLink &from = drawn->chain[maker.place], &to = drawn->chain[taker.place];
        if (!maker.hands_on || !taker.takes || from.makes != to.takes || from.in_place != 0 || to.in_place != 0)
          continue;
        const auto made = parts_by_instance(from.question, maker, *maker.hands_on, "Outputs");
        same = same && made == parts_by_instance(to.question, taker, *taker.takes, "Inputs");
        spread += made.size() > static_cast<std::size_t>(group.turns.all());
      }
    const bool whole = hands_on_whole(drawn->chain, group);
    ASSERT_TRUE(same || !whole) << seed << ": " << shown(*drawn);
    // Parts of an online softmax that work in place are not walked: they may be what is refused.
    ASSERT_TRUE(whole || !same || group.online) << seed << ": " << shown(*drawn);
    refused += !whole;
  }
  EXPECT_GT(refused, compared / 50);
  EXPECT_GT(spread, compared / 10);
}

TEST(BlockCost, WhatIsHandedOnDoesNotMoveOutsideAndMovingItOnceTakesNoMoreThanTheBoundSays) {
  int compared = 0, resident = 0;
  for (int seed = 0; compared < block_problems(4000); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    const std::optional<Drawn> drawn = draw(dice);
    if (!drawn) continue;
    for (const GroupPart& part : drawn->group.parts) {
      const LayerQuestion& question = drawn->chain[part.place].question;
      const bool stays = part.hands_on && !part.leaves;
      GroupPart moved = part;
      double most = 0;
      for (const auto& [inside, name] :
           {std::pair{part.takes, "Inputs"}, std::pair{stays ? part.hands_on : std::nullopt, "Outputs"}}) {
        if (!inside) continue;
        const int s = question.einsum.dataspace_index(name);
        for (std::size_t l = *inside + 1; l < part.mapping.levels.size(); ++l) {
          const nest::DataspaceCost& outside = part.cost.storages[l].dataspaces[static_cast<std::size_t>(s)];
          ASSERT_EQ(outside.reads + outside.fills + outside.updates, 0) << seed << ": " << shown(*drawn);
        }
        moved.mapping.levels.back().keep |= 1U << s;
        most += moving_pj(question, *inside, s);
      }
      Chain read = drawn->chain;  // whose weights are read
      ChainLink& link = read.links[part.place];
      if (std::exchange(link.weights_stay, false)) {
        const int s = question.einsum.dataspace_index("Weights");
        for (std::size_t l = *link.stay_in + 1; l < part.mapping.levels.size(); ++l)
          ASSERT_EQ(part.cost.storages[l].dataspaces[static_cast<std::size_t>(s)].reads, 0) << seed;
        moved.mapping.levels.back().keep |= 1U << s;
        most += moving_pj(question, *link.stay_in, s);
        ++resident;
      }
      ASSERT_TRUE(price(read, moved, {})) << seed << ": " << shown(*drawn);
      ASSERT_GE(part.cost.energy_pj * (1 + 1e-12), moved.cost.energy_pj - most)
          << seed << ": " << shown(*drawn) << ", " << question.name << ", cycles " << part.cost.cycles << " and "
          << moved.cost.cycles;
      const LeastCycles least = least_cycles(drawn->chain[part.place], part.takes.has_value(), stays, false);
      ASSERT_GE(static_cast<double>(part.cost.cycles), std::max({least.work, least.outside, least.inside}));
      ++compared;
    }
  }
  EXPECT_GT(resident, 100);
}

TEST(NativeTree, ReadsBackAsTheSameGroupWithTheSameFigures) {
  int compared = 0;
  for (int seed = 0; compared < block_problems(1000); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed));
    std::optional<Drawn> drawn = draw(dice);
    if (!drawn || !fits(drawn->chain, drawn->group)) continue;
    ++compared;
    add_up(drawn->chain, drawn->group);
    const std::vector<TreeNode> tree = nodes_of(drawn->chain, {drawn->group});
    const std::vector<Group> read = groups_of(drawn->chain, tree, {});
    ASSERT_EQ(read.size(), 1U) << seed << ": " << shown(*drawn);
    ASSERT_EQ(read[0].energy_pj, drawn->group.energy_pj) << seed << ": " << shown(*drawn);
    ASSERT_EQ(read[0].cycles, drawn->group.cycles) << seed << ": " << shown(*drawn);
    ASSERT_EQ(read[0].turns, drawn->group.turns);
    for (std::size_t p = 0; p < read[0].parts.size(); ++p) {
      ASSERT_EQ(read[0].parts[p].place, drawn->group.parts[p].place);
      ASSERT_EQ(read[0].parts[p].beside, drawn->group.parts[p].beside) << seed << ": " << shown(*drawn);
    }
  }
}

}  // namespace
}  // namespace orrery::verbs
