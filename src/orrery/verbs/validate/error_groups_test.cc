#include "orrery/verbs/validate/error_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace orrery::verbs {
namespace {

// A run with that MFU predicted, so many times what was measured.
ValidatedPoint grouped_point(const std::string& accelerator, base::Count gpus, Measure measure, double mfu,
                             double ratio) {
  ValidatedPoint point;
  point.kind.accelerator = accelerator;
  point.kind.stack = "megatron-core";
  point.run.plan.gpus = gpus;
  point.run.measure = measure;
  point.run.value = 2;
  point.predicted = 2 * ratio;
  point.error = ratio - 1;
  point.iteration.published.mfu = mfu;
  return point;
}

const ErrorGroup& group(const std::vector<ErrorGroup>& all, const std::string& by, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ErrorGroup& one) { return one.by == by && one.name == name; });
  if (found == all.end()) throw std::runtime_error(by + " " + name);
  return *found;
}

TEST(ErrorGroups, WhatWasMeasuredIsFasterThanPredictedWhereItsTimeIsShorterOrItsRateHigher) {
  // Predicted 25 % longer at 0.4: measured 0.5. Predicted 25 % more tokens/s at 0.4: measured 0.32.
  const ValidatedPoint slow = grouped_point("H100", 8, Measure::kIterationSeconds, 0.4, 1.25);
  const ValidatedPoint fast = grouped_point("H100", 8, Measure::kTokensPerSecond, 0.4, 1.25);
  EXPECT_DOUBLE_EQ(measured_utilisation(slow), 0.5);
  EXPECT_DOUBLE_EQ(measured_utilisation(fast), 0.32);
  // Who predicts what was measured has no error; half of it is twice the time, half the rate.
  EXPECT_DOUBLE_EQ(error_of_utilisation(slow, 0.5), 0);
  EXPECT_DOUBLE_EQ(error_of_utilisation(slow, 0.25), 1);
  EXPECT_DOUBLE_EQ(error_of_utilisation(fast, 0.16), -0.5);
}

TEST(ErrorGroups, TheConstantIsTheMedianOfAnAcceleratorAndAWidthOfProducts) {
  ValidatedSet one, other;
  one.name = "one", other.name = "other";
  one.points = {grouped_point("H100", 8, Measure::kMfu, 0.2, 1), grouped_point("H100", 8, Measure::kMfu, 0.5, 1)};
  other.points = {grouped_point("H100", 8, Measure::kMfu, 0.4, 1), grouped_point("B200", 8, Measure::kMfu, 0.3, 1)};
  other.points.push_back(grouped_point("H100", 8, Measure::kMfu, 0.7, 1));
  other.points.back().kind.bits = 8;
  const std::vector<ErrorGroup> all = error_groups({one, other});
  // H100 in 16 bits: 0.4, for 0.2, 0.5 and 0.4. B200 and 8 bits have theirs.
  EXPECT_DOUBLE_EQ(group(all, "table", "one").constant.mean_absolute, (1 + 0.2) / 2);
  EXPECT_DOUBLE_EQ(group(all, "table", "other").constant.mean_absolute, 0);
  EXPECT_DOUBLE_EQ(group(all, "accelerator", "B200").constant.worst, 0);
}

TEST(ErrorGroups, EveryRunCountsOnceInEachRespectAndUnverifiedOnesNever) {
  ValidatedSet set;
  set.name = "sizes";
  const std::map<base::Count, std::string> sizes = {{1, "1 to 8"},         {8, "1 to 8"},     {9, "9 to 64"},
                                                    {64, "9 to 64"},       {65, "65 to 512"}, {512, "65 to 512"},
                                                    {513, "more than 512"}};
  for (const auto& [gpus, name] : sizes) set.points.push_back(grouped_point("A100", gpus, Measure::kMfu, 0.4, 1.1));
  set.points[1].run.use = Use::kFitted;
  set.points.push_back(grouped_point("A100", 8, Measure::kMfu, 0.1, 5));
  set.points.back().run.use = Use::kUnverified;
  const std::vector<ErrorGroup> all = error_groups({set});
  std::map<std::string, std::size_t> points;
  for (const ErrorGroup& each : all) {
    points[each.by] += each.errors.points;
    EXPECT_EQ(each.errors.points, each.constant.points);
    EXPECT_NEAR(each.errors.worst, 0.1, 1e-12) << each.by << ' ' << each.name;
  }
  EXPECT_EQ(points.size(), 6u);
  for (const auto& [by, count] : points) EXPECT_EQ(count, sizes.size()) << by;
  EXPECT_EQ(group(all, "accelerators", "1 to 8").errors.points, 2u);
  EXPECT_EQ(group(all, "accelerators", "more than 512").errors.points, 1u);
}

}  // namespace
}  // namespace orrery::verbs
