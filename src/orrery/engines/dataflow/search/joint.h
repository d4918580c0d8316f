// optimize_jointly(setup): sharding and partition together.
#pragma once

#include "orrery/engines/dataflow/search/optimize.h"

namespace orrery::dataflow {

// Least final_ns over degrees, tiles, shardings and partitions, by the corrected formulas; never more than optimize(),
// whose answer it starts from and keeps where nothing is faster by more than a share of 1e-12. Graphs whose layers are
// spread over pipeline stages keep the sharding that they were cut under. Throws as optimize() does. The answer does
// not depend on threads.
Placement optimize_jointly(const Setup& setup, const PlaceLimits& limits = {},
                           const machine::OperatorModel* operators = nullptr);

}  // namespace orrery::dataflow
