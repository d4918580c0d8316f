// DFModel's result file: the latencies of the configurations as three arrays of an HDF5 file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/dataflow/evaluate.h"

namespace orrery::formats::dfmodel {

// The bytes of the file: `Memory_Latency`, `Compute_Latency` and `Network_Latency`, ns, one value a configuration,
// empty ones included.
std::string latency_hdf5(const dataflow::PartitionCost& partition);

// Jenkins' lookup3, with which HDF5 checks its headers.
std::uint32_t lookup3(std::string_view bytes);

}  // namespace orrery::formats::dfmodel
