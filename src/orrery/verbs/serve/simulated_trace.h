// The steps of a simulation, written down.
#pragma once

#include <string>

#include "orrery/verbs/serve/answer.h"

namespace orrery::verbs {

// At most 1,000 equal intervals of time, a row each: means of running and waiting requests and held blocks, and tokens
// per second, of all replicas. Empty where nothing was simulated.
std::string series_csv(const ServedAnswer& answer);

// Trace Event Format: a track for each replica, a slice for each step. Throws InputError (O2075) where that is too
// long.
std::string simulated_trace(const ServedAnswer& answer);

}  // namespace orrery::verbs
