// A lower bound on the sum of intervals of a partition problem, without solving it.
#pragma once

#include "orrery/engines/dataflow/partition/partition_space.h"

namespace orrery::dataflow {

// ns; no assignment is below it. Cost: a step per kernel, edge and choice.
double interval_bound(const PartitionProblem& problem, const PartitionSpace& space);

}  // namespace orrery::dataflow
