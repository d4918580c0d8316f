// `map --fuse`: a command line of its own beside that of `map`.
#pragma once

#include <optional>

#include "orrery/cli/command_line.h"

namespace orrery::verbs {

// Whether a command line of `map` is one of a whole block: `--fuse` without a value, or `--compat accelforge`.
bool asks_for_blocks(const Arguments& arguments);

int run_map_fuse(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
