// Floating values as counts, checked.
//
// A cast of a double beyond 2^63, or of nan, to an integer has no defined value: on the usual machines it gives
// the least negative one, which then wins every comparison for the least. So nothing is cast that may be that
// large; tests/house/casts.sh looks for casts of rounded values elsewhere.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "orrery/base/count.h"

namespace orrery::base {

inline constexpr Count kMostCount = std::numeric_limits<Count>::max();

// `value` without its fraction; nothing where no Count can hold that, nan included.
inline std::optional<Count> whole_number(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63)) return std::nullopt;
  return static_cast<Count>(value);
}

// As above for values from 0 on, with the largest count in place of what exceeds it. For bounds, where anything
// beyond the largest count is as good as unlimited. nan is 0.
inline Count saturated(double value) {
  if (!(value > 0)) return 0;
  return whole_number(value).value_or(kMostCount);
}

}  // namespace orrery::base
