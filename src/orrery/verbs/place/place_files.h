// A placement as the files that DFModel reads and prints.
#pragma once

#include <string>

#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

// Both need `placed.placement.mapping`.

// The setup with every decision pinned: reads back to this placement, and a hand can change it from there.
std::string pinned_setup(const PlacedGraph& placed);

// DFModel's log of a run.
std::string place_log(const PlacedGraph& placed);

}  // namespace orrery::verbs
