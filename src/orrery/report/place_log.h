// DFModel's log of a run, line by line, so that scripts made for it keep working.
#pragma once

#include <string>

#include "orrery/scenario/place.h"

namespace orrery::report {

// `name value` per line, arrays as `name[i] value`, numbers as Python prints floats. Terms that do not bind are the
// model's own, not a solver's slack. Needs `placed.placement.mapping`.
std::string place_log(const scenario::PlacedGraph& placed);

}  // namespace orrery::report
