// Questions of any size, asked at powers of two alone.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "orrery/base/numbers/count.h"

namespace orrery::verbs {

// A straight line between what `seconds` says of the powers of two beside `size`; 0 of nothing.
template <class Seconds>
double between_powers(base::Count size, const Seconds& seconds) {
  if (size <= 0) return 0;
  const auto low = static_cast<base::Count>(std::bit_floor(static_cast<std::uint64_t>(size)));
  const double at_low = seconds(low);
  if (low == size) return at_low;
  return std::lerp(at_low, seconds(2 * low), static_cast<double>(size - low) / static_cast<double>(low));
}

}  // namespace orrery::verbs
