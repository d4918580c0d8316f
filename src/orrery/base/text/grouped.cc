#include "orrery/base/text/grouped.h"

#include <cmath>

#include <fmt/format.h>

namespace orrery::base {

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::round(value));
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    if (digits[at - 1] != '-') digits.insert(at, ",");
  }
  return digits;
}

}  // namespace orrery::base
