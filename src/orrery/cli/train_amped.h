// `orrery train --equations amped`: AMPeD's files in, AMPeD's files out.
#pragma once

#include "orrery/cli/console.h"
#include "orrery/cli/options.h"

namespace orrery::cli {

// Throws InputError: O1342 where the files are not one config.json or one --config-flat, or where an option belongs to
// Orrery's own model; O1339 for a search too large; and what the readers of formats/amped say. What does not fit the
// memory, or a search that finds nothing valid, is an answer (O1340 and exit code 1).
int run_train_amped(const TrainOptions& options, const Console& console);

}  // namespace orrery::cli
