// Setups and graphs as DFModel's text-format protocol buffers: what its own tools take, and what reads back to the
// same setup.
#pragma once

#include <string>

#include "orrery/engines/dataflow/model/setup.h"

namespace orrery::formats::dfmodel {

// The block `dataflow_graph { ... }`. Kernels have the ids 1 to n in their order. Fields that say nothing are left out.
// Floating-point numbers have the fewest digits that read back to the same (32-bit, where they are one) number.
std::string write_graph(const workload::KernelGraph& graph);

// The whole file. Throws O1406 for a network that is none of DFModel's topologies.
std::string write_setup(const dataflow::Setup& setup);

}  // namespace orrery::formats::dfmodel
