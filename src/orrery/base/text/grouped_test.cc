#include "orrery/base/text/grouped.h"

#include <gtest/gtest.h>

namespace orrery::base {
namespace {

TEST(Grouped, PutsACommaBeforeEveryThreeDigitsAndNoneInFront) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(412316860416.0), "412,316,860,416");
  EXPECT_EQ(grouped(-999), "-999");
  EXPECT_EQ(grouped(-123456.4), "-123,456");
  EXPECT_EQ(grouped(999.5), "1,000");
}

}  // namespace
}  // namespace orrery::base
