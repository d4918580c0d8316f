#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::store {

std::string_view name(Status status) {
  constexpr std::string_view kNames[kStatuses] = {"optimal", "gap", "pruned", "infeasible", "timeout", "error"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string_view column(Figure figure) {
  constexpr std::string_view kNames[kFigures] = {"energy_pj", "cycles",  "utilization", "edp_j_cycles", "edp_seed",
                                                 "area_um2",  "seconds", "dollars",     "power_w"};
  return kNames[static_cast<std::size_t>(figure)];
}

}  // namespace orrery::store
