// The search for einsums whose dataspaces slide (convolutions), where the closed form does not hold.
#pragma once

#include "orrery/nest/search.h"

namespace orrery::nest {

Optimum optimize_sliding(const Model& model, const Mapspace& mapspace, const std::vector<Metric>& objective,
                         const SearchLimits& limits);

}  // namespace orrery::nest
