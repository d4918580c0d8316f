#include "orrery/describe/machine/fan_out_name.h"

#include <gtest/gtest.h>

namespace orrery::machine {
namespace {

TEST(FanOutName, IsReadBack) {
  EXPECT_EQ(fan_out_name("PERows"), "inter_PERows_spatial");
  EXPECT_EQ(container_of(fan_out_name("PERows")), "PERows");
}

TEST(FanOutName, IsNoOtherName) {
  for (const char* name : {"", "PERows", "inter_PERows", "PERows_spatial", "inter__spatial", "inter_spatial"})
    EXPECT_EQ(container_of(name), "") << name;
}

}  // namespace
}  // namespace orrery::machine
