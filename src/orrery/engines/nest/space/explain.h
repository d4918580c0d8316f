// Why a map space is empty: a minimal set of contradicting constraints.
#pragma once

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

// Fills `optimum.conflicts` and `optimum.arithmetic`. The set is irreducible: removing any one of its
// members makes the space non-empty (or, when even that leaves nothing, the set is empty and the
// arithmetic says what the hardware alone forbids), unless the budget is spent before all were tried.
void explain_empty(const Model& model, const Mapspace& mapspace, const base::Budget& budget, Optimum& optimum);

}  // namespace orrery::nest
