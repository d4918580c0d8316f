#include "orrery/present/bar.h"

#include <limits>

#include <gtest/gtest.h>

namespace orrery::verbs {
namespace {

TEST(Bar, IsDrawnInEighthsAndClipped) {
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(bar(7, 2), "██");
  EXPECT_EQ(bar(-1, 2), "");
  EXPECT_EQ(bar(std::numeric_limits<double>::quiet_NaN(), 2), "");
}

TEST(BarChart, LeavesEmptyRowsOutAndFillsTheWidthWithTheLongest) {
  const std::string chart = bar_chart({{"a", 3, "3 s"}, {"none", 0, "0 s"}, {"b", 1, "1 s"}}, 4, "4 s");
  EXPECT_EQ(chart.find("none"), std::string::npos);
  EXPECT_NE(chart.find("75.0 %"), std::string::npos) << chart;
  std::string longest;
  for (int i = 0; i < 32; ++i) longest += "█";
  EXPECT_NE(chart.find(longest + "\n"), std::string::npos) << chart;
  EXPECT_NE(chart.find("total  4 s\n"), std::string::npos) << chart;
}

TEST(BarChart, HasNoSharesOfNothing) {
  EXPECT_EQ(bar_chart({{"a", 0, "0 s"}}, 0, "0 s"), "total  0 s\n");
}

}  // namespace
}  // namespace orrery::verbs
