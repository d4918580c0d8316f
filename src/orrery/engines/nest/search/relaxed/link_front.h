// The trade-off between energy and time where instances may take words from their neighbours (links.h).
#pragma once

#include <optional>

#include "orrery/engines/nest/search/pareto.h"

namespace orrery::nest {

// As pareto_front(), for a model that has link transfers; nothing where no enumeration ends within the limits, or there
// is no mapping.
std::optional<ParetoFront> front_with_links(const Model& model, const Mapspace& mapspace, const SearchLimits& limits);

}  // namespace orrery::nest
