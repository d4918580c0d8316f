// `orrery train`, and what its options ask without answering it: for sweeps, which ask it many times.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

VerbFunction run_train;

// Throws InputError as the verb does.
TrainRequest train_request(const Arguments& arguments);

}  // namespace orrery::verbs
