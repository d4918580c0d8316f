// How a model's attention is pruned, as `sparse run`, `tune eval` and `tune train` are told.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/scenario/pruned_model.h"

namespace orrery::cli {

void declare_pruning(CommandLine& line, scenario::PruningRequest& request, bool calibrates = true);

}  // namespace orrery::cli
