// What files are and what is wrong with them: documents, setups, systems, models. It reads as the verbs do that take
// them, so it alone, with sweeps, knows other verbs.
#pragma once

#include "orrery/verbs/check/answer.h"
#include "orrery/verbs/check/request.h"

namespace orrery::verbs {

// Throws InputError with everything wrong in any file; IllegalMapping (evaluate_layer.h) for a mapping that cannot run.
Checked check(const CheckRequest& request);

}  // namespace orrery::verbs
