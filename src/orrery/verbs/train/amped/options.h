// `orrery train --equations amped`: AMPeD's files in, AMPeD's files out.
#pragma once

#include "orrery/cli/console.h"
#include "orrery/verbs/train/train_options.h"

namespace orrery::verbs {

// Throws InputError: O1342 where the files are not one config.json or one --config-flat, or where an option belongs to
// Orrery's own model; and as verbs::train_amped.
int run_train_amped(const TrainOptions& options, const Console& console);

}  // namespace orrery::verbs
