#include "orrery/engines/fused/model/usage.h"

#include <set>

#include <gtest/gtest.h>

namespace orrery::fused {
namespace {

// Two fan-outs over two bounds; the inner one asks for three quarters of its 8 instances, which 12 = 2 * 2 * 3 gives
// as 6, but not as 8.
SpreadSpace two_fanouts(double inner_usage) {
  return {{12, 10}, {{true, true}, {true, false}}, {4, 8}, {0, inner_usage}};
}

std::set<std::vector<Count>> by_hand(const SpreadSpace& space) {
  std::set<std::vector<Count>> all;
  for (Count a = 1; a <= 12; ++a)
    for (Count b = 1; b <= 10; ++b)
      for (Count c = 1; c <= 12; ++c)
        if (12 % (a * c) == 0 && 10 % b == 0 && a * b <= space.ways[0] && c <= space.ways[1] &&
            static_cast<double>(c) >= space.min_usage[1] * 8)
          all.insert({a, b, c, 1});
  return all;
}

std::vector<Count> flat(const SpreadList::One& one) {
  return {one[0][0], one[0][1], one[1][0], one[1][1]};
}

TEST(Usage, ListsEverySpreadThatDividesTheBoundsOnce) {
  for (const double usage : {0.0, 0.75}) {
    const SpreadSpace space = two_fanouts(usage);
    const SpreadList list = allowed_spreads(space);
    std::set<std::vector<Count>> found;
    for (std::size_t i = 0; i < list.size(); ++i) found.insert(flat(list[i]));
    EXPECT_TRUE(list.complete());
    EXPECT_EQ(found.size(), list.size());
    EXPECT_EQ(found, by_hand(space));
  }
}

TEST(Usage, AsksForNoMoreThanTheFactorsReach) {
  EXPECT_EQ(required_usage(two_fanouts(0.7)), (std::vector<Count>{1, 6}));
  EXPECT_EQ(required_usage(two_fanouts(1)), (std::vector<Count>{1, 6}));
  EXPECT_EQ(required_usage(two_fanouts(0)), (std::vector<Count>{1, 1}));
}

TEST(Usage, AListThatIsCutShortHoldsTheFullestSpreads) {
  const Count wide = Count{1} << 20;
  const SpreadSpace space{{wide, wide, wide}, std::vector(2, std::vector(3, true)), {wide, wide}, {0, 0}};
  const SpreadList all = allowed_spreads(space);
  const SpreadList cut = allowed_spreads(space, [] { return true; });
  EXPECT_FALSE(cut.complete());
  ASSERT_GT(cut.size(), 0U);
  EXPECT_LT(cut.size(), all.size());
  const SpreadList::One first = cut[cut.size() - 1];
  EXPECT_EQ(first.instances(), static_cast<double>(wide) * static_cast<double>(wide));
}

}  // namespace
}  // namespace orrery::fused
