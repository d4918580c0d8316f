// The trade-off between energy and time as text.
#pragma once

#include <string>

#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// One row a point, energy rising, then the mappings in one line each; says when points may be missing. For a layer
// that has a front.
std::string front_table(const MappedLayer& layer);

}  // namespace orrery::verbs
