#include "tests/rtl/expect.h"

#include <cstdio>
#include <regex>

#include <gtest/gtest.h>

#include "tests/rtl/branches.h"

namespace orrery::rtl {
namespace {

void expect_reached(const char* what, const Reached& points) {
  std::string holes;
  for (const std::string& hole : points.holes) holes += "\n  " + hole;
  std::printf("%s: %zu of %zu%s%s\n", what, points.reached, points.all, holes.empty() ? "" : "; holes:", holes.c_str());
  EXPECT_GE(points.share(), 0.95) << holes;
}

}  // namespace

void expect_covered(Unit& unit, const char* constant) {
  Coverage covered = coverage(unit);
  EXPECT_GT(covered.lines.all + covered.bits.all, 0U);
  if (constant != nullptr) {
    const std::regex expression(constant);
    covered.bits.all -=
        std::erase_if(covered.bits.holes, [&](const std::string& hole) { return std::regex_search(hole, expression); });
  }
  if (covered.lines.all > 0) expect_reached("lines run", covered.lines);
  if (const Reached ways = branches(unit); ways.all > 0) expect_reached("branches taken", ways);
  if (covered.bits.all > 0) expect_reached("bits changed", covered.bits);
}

void expect_equal(Unit& unit, std::size_t divisor, const char* constant) {
  const std::string difference = cosimulate(unit, cosim_cycles() / divisor);
  ASSERT_TRUE(difference.empty()) << difference;
  expect_covered(unit, constant);
}

}  // namespace orrery::rtl
