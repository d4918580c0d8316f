// `orrery train`: what its options ask.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// Without answering it: for sweeps, which ask it many times. Throws InputError as the verb does.
TrainRequest train_request(const Arguments& arguments);

}  // namespace orrery::verbs
