// `orrery map`: what its options ask.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

// Without answering it: for sweeps, which ask it many times. Throws InputError as the verb does.
MapRequest map_request(const Arguments& arguments);

}  // namespace orrery::verbs
