// Decimal numbers to whole femtoseconds, exactly.
#pragma once

#include <string>
#include <string_view>

#include "orrery/base/numbers/count.h"

namespace orrery::formats::substation {

struct DecimalTime {
  base::Count femtoseconds = 0;
  std::string wrong;  // what is wrong with it, for messages; empty where nothing is
};

// "1.9e-4" with 15 digits of the unit after the point (seconds) or 12 (milliseconds). Digits below a femtosecond are
// rounded, a half upwards. Wrong: what is no number, not finite, not above zero, or a second and more times a thousand.
DecimalTime decimal_time(std::string_view text, int digits_of_unit);

// The shortest decimal of so many femtoseconds in that unit, with an exponent only where Python's repr has one.
std::string decimal_text(base::Count femtoseconds, int digits_of_unit);

}  // namespace orrery::formats::substation
