// The search over tiles: einsums of any number of dimensions, with windows that slide.
#pragma once

#include <optional>

#include "orrery/nest/gap.h"
#include "orrery/nest/search_rules.h"
#include "orrery/nest/space.h"

namespace orrery::nest {

// As optimize(), without certificate.space, gap and seconds, and without an explanation of why there is no mapping.
// Nothing where the formulation does not apply (tile_problem.h).
std::optional<Optimum> optimize_on_tiles(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                         const SearchRules& limits, const cost::Budget& budget, GapWatch& watch);

}  // namespace orrery::nest
