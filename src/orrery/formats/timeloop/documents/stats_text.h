// Timeloop's `stats.txt`, for the scripts that read it.
#pragma once

#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/engines/nest/model/model_options.h"

namespace orrery::nest {
struct SparseEvaluation;  // engines/nest/sparse/sparse_evaluation.h
}

namespace orrery::formats::timeloop {

// The layout of Timeloop's mapper and model, line for line; with `sparse` (of the same mapping, with its design) that
// of Sparseloop. `compat` prints the summary's area as the original does (0.00 mm^2, lost on a reset) and shares of
// bandwidths as its macro has them (1 - 100 times the other share); otherwise area is the sum over the levels.
std::string stats_text(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Evaluation& evaluation,
                       bool compat, const nest::SparseEvaluation* sparse = nullptr);

}  // namespace orrery::formats::timeloop
