// What a bench expects of its unit.
#pragma once

#include "tests/rtl/cosim.h"

namespace orrery::rtl {

// 95 in 100 lines, and bits where they are counted; not those that are constant by construction, a regular expression
// of names. What was not reached is printed.
void expect_covered(Unit& unit, const char* constant = nullptr);

// Equal in as many random cycles as are asked for, and what there is of the module reached.
void expect_equal(Unit& unit, std::size_t divisor = 1, const char* constant = nullptr);

}  // namespace orrery::rtl
