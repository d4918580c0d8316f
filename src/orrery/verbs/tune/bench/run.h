// The operators of an encoder's layer measured on this machine, in as many layouts as matter (docs/model/tuning.md).
#pragma once

#include "orrery/verbs/tune/bench/answer.h"
#include "orrery/verbs/tune/bench/request.h"

namespace orrery::verbs {

// Throws InputError: what load_model does; O1740, O1741; O1742 for sizes that cannot be, O1743 for what is no kernel or
// contraction, O1525 without memory. Warns: O1744 for what of the model the graph does not have,
// O1530 where others took it.
TunedBench tune_bench(const TuneBenchRequest& request);

}  // namespace orrery::verbs
