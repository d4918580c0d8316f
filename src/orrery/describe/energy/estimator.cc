#include "orrery/describe/energy/estimator.h"

#include <array>

namespace orrery::energy {

std::string_view name(Basis basis) {
  constexpr std::array<std::string_view, 6> kNames = {"published",    "modelled", "interpolated",
                                                      "extrapolated", "measured", "assumed"};
  return kNames[static_cast<std::size_t>(basis)];
}

}  // namespace orrery::energy
