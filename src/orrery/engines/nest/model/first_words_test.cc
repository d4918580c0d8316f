#include "orrery/engines/nest/model/first_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "orrery/engines/nest/model/imperfect_simulation_test_util.h"
#include "orrery/engines/nest/model/imperfect_traffic.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/model/sliding.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using Point = std::vector<Count>;

// Operation by operation: of each instance of `outer`, the words of all boxes that its instances of `inner` (-1:
// compute units) ever hold, a box reaching from the least to the greatest word that the operations of a tile touch.
std::map<Point, std::set<Point>> walked(const workload::Einsum& einsum, const Mapping& mapping, int s, int inner,
                                        int outer) {
  const workload::Dataspace& dataspace = einsum.dataspaces[s];
  std::map<Point, std::map<Point, std::pair<Point, Point>>> tiles;  // by instance, by tile: both corners
  Point at(einsum.dimensions.size(), 0);
  while (true) {
    Point instance, tile;
    for (std::size_t d = 0; d < at.size(); ++d) {
      Count rest = at[d];
      for (int i = 0; i < static_cast<int>(mapping.levels.size()); ++i) {
        const LevelMapping& level = mapping.levels[i];
        if (i > inner) tile.push_back(rest % level.spatial[d]);
        if (i > outer) instance.push_back(rest % level.spatial[d]);
        rest /= level.spatial[d];
        if (i > inner) tile.push_back(rest % level.temporal[d]);
        rest /= level.temporal[d];
      }
    }
    Point word;
    for (const workload::Rank& rank : dataspace.ranks) {
      word.push_back(0);
      for (const auto& [d, coefficient] : rank.terms) word.back() += coefficient * at[d];
    }
    auto& [low, high] = tiles[instance].try_emplace(tile, word, word).first->second;
    for (std::size_t r = 0; r < word.size(); ++r)
      low[r] = std::min(low[r], word[r]), high[r] = std::max(high[r], word[r]);
    std::size_t d = 0;
    while (d < at.size() && ++at[d] == einsum.dimensions[d].bound) at[d++] = 0;
    if (d == at.size()) break;
  }
  std::map<Point, std::set<Point>> words;
  for (const auto& [instance, boxes] : tiles)
    for (const auto& [tile, corners] : boxes) {
      Point word = corners.first;
      while (true) {
        words[instance].insert(word);
        std::size_t r = 0;
        while (r < word.size() && ++word[r] > corners.second[r]) word[r] = corners.first[r], ++r;
        if (r == word.size()) break;
      }
    }
  return words;
}

// Outputs that are stretched, lie on a diagonal or overlap, and one input.
workload::Einsum with_gaps(Dice& dice, Count largest) {
  while (true) {
    workload::Einsum einsum;
    einsum.name = "gaps";
    const int dimensions = static_cast<int>(dice(2, 4));
    for (int d = 0; d < dimensions; ++d)
      einsum.dimensions.push_back({std::string(1, static_cast<char>('A' + d)), dice(1, 6)});
    workload::Dataspace inputs{"Inputs", {}, false}, outputs{"Outputs", {}, true};
    for (int d = 0; d < dimensions; ++d) inputs.ranks.push_back({{{d, 1}}});
    for (int ranks = static_cast<int>(dice(1, 2)); ranks > 0; --ranks) {
      workload::Rank rank;
      const std::vector<int> order = dice.order(dimensions);
      for (int terms = static_cast<int>(dice(1, 2)), k = 0; k < terms; ++k)
        rank.terms.push_back({order[k], dice(1, 4)});
      outputs.ranks.push_back(rank);
    }
    einsum.dataspaces = {inputs, outputs};
    if (einsum.operations() <= largest && shape_of(einsum).gaps[1]) return einsum;
  }
}

machine::Chip chip_of(int storages) {
  machine::Chip chip;
  chip.name = "chip";
  chip.storages.resize(static_cast<std::size_t>(storages));
  for (int i = 0; i < storages; ++i) chip.storages[i].name = "L" + std::to_string(i);
  return chip;
}

TEST(FirstWords, OfOutputsWithHolesReadsAndFillsLackJustTheWordsThatAWalkMeetsForTheFirstTime) {
  int overlapping = 0, apart = 0, never_read = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = with_gaps(dice, 400);
    const int storages = static_cast<int>(dice(1, 3));
    const Mapping mapping = testing::random_mapping(dice, einsum, storages, dice.once_in(2));
    const Shape shape = shape_of(einsum);
    Traffic traffic;
    sliding(einsum, shape, mapping, {}, traffic);
    const Evaluation evaluation = evaluate(einsum, chip_of(storages), mapping);
    int inner = -1, outermost = 0;
    for (int i = 0; i < storages; ++i)
      if (mapping.levels[i].keep >> 1 & 1) outermost = i;
    for (int i = 0; i <= outermost; ++i) {
      if (!(mapping.levels[i].keep >> 1 & 1)) continue;
      const DataspaceCost& use = evaluation.storages[i].dataspaces[1];
      const auto leaving = walked(einsum, mapping, 1, inner, i), entering = walked(einsum, mapping, 1, i, i);
      for (const auto& [instance, words] : leaving)
        ASSERT_EQ(use.reads, use.updates - static_cast<Count>(words.size())) << "seed " << seed << " level " << i;
      ASSERT_GE(use.reads, 0) << "seed " << seed << " level " << i;
      ASSERT_GE(use.fills, 0) << "seed " << seed << " level " << i;
      if (i < outermost) {
        const Count share = traffic.deliveries[i + 1][1] / traffic.fanout[i + 1];
        for (const auto& [instance, words] : entering)
          ASSERT_EQ(use.fills, share - static_cast<Count>(words.size())) << "seed " << seed << " level " << i;
      }
      ++(shape.overlapping[1] ? overlapping : apart);
      never_read += use.reads == 0;
      inner = i;
    }
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_GT(apart, 300);
  EXPECT_GT(never_read, 100);
}

TEST(FirstWords, TheSameWhereFactorsLeaveARest) {
  int compared = 0, unlike = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = with_gaps(dice, 250);
    const int storages = static_cast<int>(dice(1, 3));
    const Mapping mapping = testing::random_imperfect_mapping(dice, einsum, storages, dice.once_in(2));
    if (perfect(mapping)) continue;
    ++compared;
    ImperfectTraffic traffic;
    imperfect_traffic(einsum, shape_of(einsum), mapping, {}, false, traffic);
    int inner = -1, outermost = 0;
    for (int i = 0; i < storages; ++i)
      if (mapping.levels[i].keep >> 1 & 1) outermost = i;
    for (int i = 0; i <= outermost; ++i) {
      const auto compare = [&](int from, const Flows<double>& mean, const Flows<double>& busiest,
                               LevelTable<double> Flows<double>::*which) {
        Count all = 0, first = 0;
        const auto words = walked(einsum, mapping, 1, from, i);
        for (const auto& [instance, here] : words) all += static_cast<Count>(here.size());
        first = static_cast<Count>(words.begin()->second.size());
        ASSERT_EQ(std::llround((mean.*which)[i][1] * static_cast<double>(words.size())), all) << "seed " << seed;
        ASSERT_EQ(std::llround((busiest.*which)[i][1]), first) << "seed " << seed << " level " << i;
        unlike += all != first * static_cast<Count>(words.size());
      };
      compare(inner, traffic.mean, traffic.busiest, &Flows<double>::seen);
      compare(i, traffic.mean, traffic.busiest, &Flows<double>::seen_entering);
      if (HasFatalFailure()) return;
      for (const Flows<double>* flows : {&traffic.mean, &traffic.busiest}) {
        ASSERT_GE(flows->content[i][1], flows->seen[i][1] * (1 - 1e-12)) << "seed " << seed << " level " << i;
        if (!(mapping.levels[i].keep >> 1 & 1) || i == outermost) continue;
        ASSERT_GE(flows->share[i][1], flows->seen_entering[i][1] * (1 - 1e-12)) << "seed " << seed << " level " << i;
      }
      if (mapping.levels[i].keep >> 1 & 1) inner = i;
    }
  }
  EXPECT_GT(compared, 1'000);
  EXPECT_GT(unlike, 100);
}

// A transposed convolution: R = 2 taps in space outside P = 4, outputs 3 apart. Each instance has one tap's four words,
// of which the tiles of one word bring no hole.
TEST(FirstWords, WordsBetweenThoseTouchedAreNotSparedAReadThatNobodyMakes) {
  workload::Einsum einsum;
  einsum.name = "transposed";
  einsum.dimensions = {{"R", 2}, {"P", 4}};
  einsum.dataspaces = {{"Weights", {{{{0, 1}}}}, false}, {"Outputs", {{{{0, 1}, {1, 3}}}}, true}};
  LevelMapping level;
  level.temporal = level.spatial = {1, 1};
  level.temporal_order = level.spatial_order = {0, 1};
  level.keep = 0b11;
  Mapping mapping{{level, level}};
  mapping.levels[1].spatial = {2, 1};
  mapping.levels[1].temporal = {1, 4};
  const Evaluation evaluation = evaluate(einsum, chip_of(2), mapping);
  EXPECT_EQ(evaluation.storages[1].dataspaces[1].updates, 8);
  EXPECT_EQ(evaluation.storages[1].dataspaces[1].reads, 0);
  EXPECT_EQ(evaluation.storages[0].dataspaces[1].fills, 0);
  EXPECT_EQ(evaluation.storages[0].dataspaces[1].partition_words, 4);
}

}  // namespace
}  // namespace orrery::nest
