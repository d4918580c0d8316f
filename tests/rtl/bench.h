// What every bench does with its unit.
#pragma once

#include <gtest/gtest.h>

#include "tests/rtl/dut.h"

namespace orrery::rtl {

inline void expect_covered(Unit& unit, double share = 0.95) {
  const Coverage covered = coverage(unit);
  std::string holes;
  for (const std::string& hole : covered.holes) holes += " " + hole;
  std::printf("lines covered: %zu of %zu%s%s\n", covered.run, covered.lines,
              holes.empty() ? "" : "; holes:", holes.c_str());
  EXPECT_GT(covered.lines, 0U);
  EXPECT_GE(covered.share(), share) << holes;
}

// Equal in as many random cycles as are asked for, and 95 in 100 lines run.
inline void expect_equal(Unit& unit, std::size_t divisor = 1) {
  const std::string difference = cosimulate(unit, cosim_cycles() / divisor);
  ASSERT_TRUE(difference.empty()) << difference;
  expect_covered(unit);
}

}  // namespace orrery::rtl
