// `orrery tune ledger`.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

int run_tune_ledger(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
