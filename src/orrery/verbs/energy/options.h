// `orrery energy`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

VerbFunction run_energy;

// Throws InputError as the verb does.
DocumentRequest energy_request(const Arguments& arguments);

}  // namespace orrery::verbs
