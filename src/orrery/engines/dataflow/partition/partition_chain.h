// A good partition, quickly: the best cut of one order of the kernels into configurations.
//
// With the order fixed, only prefixes are ideals, and the dynamic programme of partition_ideals.h runs over N + 1 of
// them: O(C N) segments, each priced once. Two orders are tried: kernels by index, and consumers as soon as their last
// producer has run (a weight update beside the gradient that it takes). The exact searches start from the better one.
#pragma once

#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/dataflow/partition/partition_price.h"
#include "orrery/engines/dataflow/partition/partition_space.h"

namespace orrery::dataflow {

// Nothing when neither order has a feasible cut, which proves nothing. Where time is short, fewer cuts are tried.
std::optional<std::vector<int>> best_chain(SetPricer& pricer, const PartitionSpace& space,
                                           const base::Budget& budget = {});

}  // namespace orrery::dataflow
