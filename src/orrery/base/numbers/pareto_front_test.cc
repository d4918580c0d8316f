#include "orrery/base/numbers/pareto_front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace orrery::base {
namespace {

TEST(ParetoFront, HasWhatNoOtherPointBeatsEqualOnesAndAll) {
  std::mt19937 dice(20240229);
  for (int round = 0; round < 500; ++round) {
    std::vector<Costs> points(1 + dice() % 40);
    const std::size_t objectives = 1 + dice() % 3;
    for (Costs& costs : points)
      while (dice() % 8 != 0 && costs.size() < objectives) costs.push_back(static_cast<double>(dice() % 6));
    for (Costs& costs : points)
      if (costs.size() < objectives) costs.clear();  // not compared
    std::vector<std::size_t> expected;
    for (std::size_t a = 0; a < points.size(); ++a)
      if (!points[a].empty() && std::none_of(points.begin(), points.end(), [&](const Costs& other) {
            return !other.empty() && beats(other, points[a]);
          }))
        expected.push_back(a);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
    ASSERT_EQ(unbeaten(points), expected);
  }
}

TEST(ParetoFront, APointBeatsWhatIsNowhereBelowAndSomewhereAbove) {
  EXPECT_TRUE(beats({1, 2}, {1, 3}));
  EXPECT_FALSE(beats({1, 2}, {1, 2}));
  EXPECT_FALSE(beats({1, 3}, {2, 2}));
  ParetoFront front;
  for (const Costs& costs : {Costs{2, 2}, {1, 3}, {2, 2}, {1, 2}}) front.add(costs);
  EXPECT_EQ(front.all(), (std::vector<Costs>{{1, 2}}));
}

}  // namespace
}  // namespace orrery::base
