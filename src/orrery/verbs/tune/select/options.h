// `orrery tune select`: what its options ask.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

int run_tune_select(const Arguments& arguments, Console& console);

// Without answering it: for sweeps, which ask it many times. Throws InputError as the verb does.
TuneSelectRequest select_request(const Arguments& arguments);

}  // namespace orrery::verbs
