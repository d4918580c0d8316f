// Combines several partition problems: the same kernels and edges under different tiles, of which each configuration
// takes the fastest that fits.
#pragma once

#include <vector>

#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {

// `problems`: at least one, of the same kernels, edges, chip and configurations. Each becomes an alternative of the
// result; the result's own figures are the least over all of them, so that a bound of the result bounds every choice;
// only for bytes resident in DRAM the largest figure counts.
PartitionProblem fastest_of(std::vector<PartitionProblem> problems);

}  // namespace orrery::dataflow
