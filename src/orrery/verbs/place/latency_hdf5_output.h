// DFModel's result file: the latencies of the configurations as three arrays of an HDF5 file.
#pragma once

#include <string>

#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::verbs {

// The version of the HDF5 library that writes the file; empty: Orrery was built without one.
std::string hdf5_version();

// Throws InputError O1471 where there is none.
void require_hdf5();

// The bytes of the file: `Memory_Latency`, `Compute_Latency` and `Network_Latency`, ns, one value a configuration,
// empty ones included. Needs the library.
std::string latency_hdf5(const dataflow::PartitionCost& partition);

}  // namespace orrery::verbs
