// Where the time of a placement goes: a stacked bar for each configuration.
#pragma once

#include <string>

#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

// Compute, memory and network of each configuration that has kernels, one on top of the other, and a line at its
// interval: where they overlap, the interval is the highest of them, and the rest of the bar is hidden. Needs
// `placed.placement.mapping`.
std::string latency_svg(const PlacedGraph& placed);

}  // namespace orrery::verbs
