// `orrery place`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

VerbFunction run_place;

// Throws InputError as the verb does.
PlaceRequest place_request(const Arguments& arguments);

}  // namespace orrery::verbs
