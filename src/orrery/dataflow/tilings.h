// One partition problem out of several: the same kernels and edges under different tiles, of which each configuration
// takes the fastest that fits.
#pragma once

#include <vector>

#include "orrery/dataflow/partition.h"

namespace orrery::dataflow {

// `problems`: at least one, of the same kernels, edges, chip and configurations. Each becomes an alternative of the
// result; the result's own figures are the least over all of them, so that what bounds it bounds every choice, but for
// what is resident in DRAM, where the most counts.
PartitionProblem fastest_of(std::vector<PartitionProblem> problems);

}  // namespace orrery::dataflow
