#include "orrery/describe/energy/estimator.h"

#include "orrery/base/diagnostics/check.h"

namespace orrery::energy {

std::string_view name(Basis basis) {
  switch (basis) {
    case Basis::kPublished:
      return "published";
    case Basis::kModelled:
      return "modelled";
    case Basis::kInterpolated:
      return "interpolated";
    case Basis::kExtrapolated:
      return "extrapolated";
    case Basis::kMeasured:
      return "measured";
    case Basis::kAssumed:
      return "assumed";
  }
  ORRERY_CHECK(false, "a basis without a name");
  return {};
}

}  // namespace orrery::energy
