// A tensor as NumPy reads it.
#pragma once

#include "orrery/scenario/layer_check.h"
#include "orrery/scenario/output_file.h"

namespace orrery::scenario {

// "<name>.npy": NumPy's format 1.0 (numpy.lib.format), little-endian fp32, row-major.
OutputFile tensor_file(const KeptTensor& tensor);

}  // namespace orrery::scenario
