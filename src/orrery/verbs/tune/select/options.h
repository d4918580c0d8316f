// `orrery tune select`.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

int run_tune_select(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
