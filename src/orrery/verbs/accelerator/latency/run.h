// `orrery sparse latency`: Sanger's latency models on measured or given figures.
#pragma once

#include "orrery/verbs/accelerator/latency/answer.h"
#include "orrery/verbs/accelerator/latency/request.h"

namespace orrery::verbs {

// Throws InputError: those of formats/sanger/load_balance_rows.h.
SparseLatencyAnswer sparse_latency(const SparseLatencyRequest& request);

}  // namespace orrery::verbs
