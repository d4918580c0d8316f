// Timeloop's `stats.txt`, for the scripts that read it.
#pragma once

#include <string>

#include "orrery/machine/chip.h"
#include "orrery/nest/evaluation.h"
#include "orrery/nest/options.h"
#include "orrery/workload/einsum.h"

namespace orrery::formats::timeloop {

// The layout of Timeloop's mapper and model, line for line. `compat_area` prints the summary's area as the
// original does (0.00 mm^2, lost on a reset); otherwise it is the sum over the levels.
std::string stats_text(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Evaluation& evaluation,
                       bool compat_area);

}  // namespace orrery::formats::timeloop
