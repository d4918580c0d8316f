// `map --fuse`: a command line of its own beside that of `map`.
#pragma once

#include <optional>

#include "orrery/cli/command_line.h"
#include "orrery/verbs/map/fuse/request.h"

namespace orrery::verbs {

// Whether a command line of `map` is one of a whole block: `--fuse` without a value, or `--compat accelforge`.
bool asks_for_blocks(const Arguments& arguments);

// The question of a study's point: a model's block. Throws InputError O2059 for what is asked of one run.
BlockRequest block_request(const Arguments& arguments);

int run_map_fuse(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
