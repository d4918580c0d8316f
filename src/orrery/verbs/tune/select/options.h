// `orrery tune select`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

VerbFunction run_tune_select;

// Throws InputError as the verb does.
TuneSelectRequest select_request(const Arguments& arguments);

}  // namespace orrery::verbs
