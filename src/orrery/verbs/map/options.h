// `orrery map`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

VerbFunction run_map;

// Throws InputError as the verb does.
MapRequest map_request(const Arguments& arguments);

}  // namespace orrery::verbs
