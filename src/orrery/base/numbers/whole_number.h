// Floating values as counts, checked.
//
// A cast of a double beyond 2^63, or of nan, to an integer is undefined: on common machines it gives the most negative
// integer, which then looks like the smallest cost. Values that may be that large are therefore converted here;
// tests/house/casts.sh looks for casts of rounded values elsewhere.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "orrery/base/numbers/count.h"

namespace orrery::base {

inline constexpr Count kMostCount = std::numeric_limits<Count>::max();

// `value` without its fraction; nothing if it does not fit a Count (nan does not).
inline std::optional<Count> whole_number(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63)) return std::nullopt;
  return static_cast<Count>(value);
}

// As above for values from 0 on; what exceeds the largest count becomes the largest count. For bounds, where such a
// value means "unlimited". nan is 0.
inline Count saturated(double value) {
  if (!(value > 0)) return 0;
  return whole_number(value).value_or(kMostCount);
}

}  // namespace orrery::base
