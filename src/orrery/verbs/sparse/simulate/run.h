// `orrery sparse simulate`: masks, arrays or a model's attentions on an accelerator, cycle by cycle.
#pragma once

#include "orrery/verbs/sparse/simulate/answer.h"
#include "orrery/verbs/sparse/simulate/request.h"

namespace orrery::verbs {

// Throws InputError: those of read_array_cases(), instance_for() and price_of(). Warns O1841 of what the limits left
// out, O1903 of numbers that did not fit their format.
SparseSimulate simulate_sparse(const SimulateRequest& request);

}  // namespace orrery::verbs
