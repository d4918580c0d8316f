// Timeloop's `stats.txt`, for the scripts that read it.
#pragma once

#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/engines/nest/model/model_options.h"

namespace orrery::formats::timeloop {

// The layout of Timeloop's mapper and model, line for line. `compat_area` prints the summary's area as the
// original does (0.00 mm^2, lost on a reset); otherwise it is the sum over the levels.
std::string stats_text(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Evaluation& evaluation,
                       bool compat_area);

}  // namespace orrery::formats::timeloop
