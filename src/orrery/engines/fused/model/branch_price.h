// price(problem, branch): what one einsum costs under its line of steps, whatever else runs.
#pragma once

#include "orrery/engines/fused/model/evaluate.h"

namespace orrery::fused {

EinsumCost price(const Problem& problem, const Branch& branch);

// Words of the access's tile that the steps from `step` on span.
Count tile_words(const Problem& problem, const Branch& branch, int step, int access);

}  // namespace orrery::fused
