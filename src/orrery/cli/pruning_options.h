// How a model's attention is pruned, as `sparse run`, `tune eval` and `tune train` are told.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/inputs/networks/pruned_model.h"

namespace orrery::verbs {

void declare_pruning(CommandLine& line, PruningRequest& request, bool calibrates = true);

// Throws InputError O1103 where the model's own rule is put aside and none takes its place.
void check_prunes(const PruningRequest& request);

}  // namespace orrery::verbs
