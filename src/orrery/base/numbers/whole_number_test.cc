#include "orrery/base/numbers/whole_number.h"

#include <gtest/gtest.h>

#include <limits>

namespace orrery::base {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(WholeNumber, WhatACountHoldsIsKept) {
  EXPECT_EQ(whole_number(0), 0);
  EXPECT_EQ(whole_number(2.75), 2);
  EXPECT_EQ(whole_number(-2.75), -2);
  EXPECT_EQ(whole_number(9223372036854774784.0), 9223372036854774784);  // the largest double below 2^63
  EXPECT_EQ(whole_number(-0x1p63), std::numeric_limits<Count>::min());
}

TEST(WholeNumber, WhatNoCountHoldsIsNone) {
  for (const double value : {0x1p63, 1e300, kInfinity, -1e19, -kInfinity, kNan})
    EXPECT_FALSE(whole_number(value).has_value()) << value;
}

TEST(Saturated, BeyondTheLargestCountIsTheLargestCount) {
  EXPECT_EQ(saturated(3.5), 3);
  EXPECT_EQ(saturated(0x1p63), kMostCount);
  EXPECT_EQ(saturated(kInfinity), kMostCount);
  EXPECT_EQ(saturated(-1), 0);
  EXPECT_EQ(saturated(kNan), 0);
}

}  // namespace
}  // namespace orrery::base
