// What every bench does with its unit.
#pragma once

#include <regex>

#include <gtest/gtest.h>

#include "tests/rtl/dut.h"

namespace orrery::rtl {

inline void expect_reached(const char* what, const Reached& points) {
  std::string holes;
  for (const std::string& hole : points.holes) holes += "\n  " + hole;
  std::printf("%s: %zu of %zu%s%s\n", what, points.reached, points.all, holes.empty() ? "" : "; holes:", holes.c_str());
  EXPECT_GE(points.share(), 0.95) << holes;
}

// 95 in 100 lines, and bits where they are counted; not those that are constant by construction, a regular expression
// of names.
inline void expect_covered(Unit& unit, const char* constant = nullptr) {
  Coverage covered = coverage(unit);
  EXPECT_GT(covered.lines.all + covered.bits.all, 0U);
  if (constant != nullptr)
    covered.bits.all -=
        std::erase_if(covered.bits.holes, [&, expression = std::regex(constant)](const std::string& hole) {
          return std::regex_search(hole, expression);
        });
  if (covered.lines.all > 0) expect_reached("lines run", covered.lines);
  if (covered.bits.all > 0) expect_reached("bits changed", covered.bits);
}

// Equal in as many random cycles as are asked for, and what there is of the module reached.
inline void expect_equal(Unit& unit, std::size_t divisor = 1, const char* constant = nullptr) {
  const std::string difference = cosimulate(unit, cosim_cycles() / divisor);
  ASSERT_TRUE(difference.empty()) << difference;
  expect_covered(unit, constant);
}

}  // namespace orrery::rtl
