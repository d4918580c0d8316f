// `orrery train --plans FILE`: many plans, evaluated one by one.
#pragma once

#include <string>

#include "orrery/cli/console.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// Rows go to `console.out`, what is wrong with some of them to `console.err`. Returns the exit code.
int run_plan_rows(const TrainRequest& request, const std::string& file, Console& console);

}  // namespace orrery::verbs
