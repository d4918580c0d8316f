// A tensor as NumPy reads it.
#pragma once

#include "orrery/inputs/output_file.h"
#include "orrery/verbs/tune/run/layer_check.h"

namespace orrery::verbs {

// "<name>.npy": NumPy's format 1.0 (numpy.lib.format), little-endian fp32, row-major.
OutputFile tensor_file(const KeptTensor& tensor);

}  // namespace orrery::verbs
