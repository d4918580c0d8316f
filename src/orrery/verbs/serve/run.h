// A model served on a system: which deployment, how fast, at which price.
#pragma once

#include "orrery/verbs/serve/answer.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

// Degrees that are not given are searched within `gpus`; without that they are 1. Throws InputError: O1103 for what is
// missing, O2070 to O2075 of the engine, O2076 where no deployment fits, O2077 where none is within the limits, O2078
// where requests come faster than they can be served.
ServedAnswer serve(const ServeRequest& request);

// The same; O2076 to O2078 are `refused` of the answer: no.
ServedAnswer serve_or_refuse(const ServeRequest& request);

}  // namespace orrery::verbs
