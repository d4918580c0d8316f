// `orrery sparse simulate`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/sparse/simulate/run.h"

namespace orrery::verbs {

VerbFunction run_sparse_simulate;

// Throws InputError as the verb does.
SimulateRequest simulate_request(const Arguments& arguments);

}  // namespace orrery::verbs
