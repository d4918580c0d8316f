// Levels of `stats.txt` in the layout of Sparseloop, on hardware that knows zeros.
#pragma once

#include <cstddef>
#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/sparse/sparse_evaluation.h"

namespace orrery::formats::timeloop {

std::string sparse_compute_text(const machine::Compute& compute, const nest::SparseEvaluation& sparse);

// Storage `number` - 1. `compat`: shares of bandwidths with the original's defects. Needs the design.
std::string sparse_storage_text(std::size_t number, const workload::Einsum& einsum, const machine::Chip& chip,
                                const nest::SparseEvaluation& sparse, bool compat);

}  // namespace orrery::formats::timeloop
