// The search for einsums whose dataspaces slide (convolutions), where the closed form does not hold.
#pragma once

#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// As optimize(), without certificate.space, gap and seconds, and without an explanation of why there is no mapping.
Optimum optimize_sliding(const Model& model, const Space& space, const std::vector<Metric>& objective,
                         const SearchRules& rules, const base::Budget& budget);

}  // namespace orrery::nest
