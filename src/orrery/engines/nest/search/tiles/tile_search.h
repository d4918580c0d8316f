// The search over tiles: einsums of any number of dimensions, with windows that slide.
#pragma once

#include <optional>

#include "orrery/engines/nest/search/gap.h"
#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// As optimize(), without certificate.space, gap and seconds, and without an explanation of why there is no mapping.
// Nothing where the formulation does not apply (tile_problem.h).
std::optional<Optimum> optimize_on_tiles(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                         const SearchRules& limits, const base::Budget& budget, GapWatch& watch);

}  // namespace orrery::nest
