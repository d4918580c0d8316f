// `orrery sparse latency`: Sanger's latency models on measured or given figures.
#pragma once

#include "orrery/verbs/sparse/latency/answer.h"
#include "orrery/verbs/sparse/latency/request.h"

namespace orrery::verbs {

// Throws InputError: those of formats/sanger/load_balance_rows.h.
SparseLatencyAnswer sparse_latency(const SparseLatencyRequest& request);

}  // namespace orrery::verbs
