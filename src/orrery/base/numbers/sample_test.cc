#include "orrery/base/numbers/sample.h"

#include <gtest/gtest.h>

namespace orrery::base {
namespace {

TEST(Sample, MedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(sample({3, 1, 2}).median, 2);
  EXPECT_EQ(sample({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(sample({7}).median, 7);
}

TEST(Sample, DeviationIsThatOfASample) {
  const Sample s = sample({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_NEAR(s.stddev * s.stddev, 32.0 / 7, 1e-12);
  EXPECT_EQ(s.min, 2);
  EXPECT_EQ(s.max, 9);
  EXPECT_EQ(sample({7}).stddev, 0);
  EXPECT_EQ(sample({}).median, 0);
}

}  // namespace
}  // namespace orrery::base
