// `orrery place`: what its options ask.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

// Without answering it: for sweeps, which ask it many times. Throws InputError as the verb does.
PlaceRequest place_request(const Arguments& arguments);

}  // namespace orrery::verbs
