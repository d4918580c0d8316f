// `orrery serve`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

VerbFunction run_serve;

// Throws InputError as the verb does.
ServeRequest serve_request(const Arguments& arguments);

}  // namespace orrery::verbs
