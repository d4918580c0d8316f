#include "orrery/present/within_text.h"

#include <fmt/format.h>

namespace orrery::verbs {

std::string within_text(double share) {
  constexpr double kUnknown = 9;
  if (share < 1) return fmt::format("within {:.0f} %", share * 100);
  return share < kUnknown ? fmt::format("to a factor of {:.2g}", 1 + share) : "how far off is unknown";
}

}  // namespace orrery::verbs
