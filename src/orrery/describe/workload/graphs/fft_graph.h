// A long Fourier transform as a graph of kernels, as DFModel's generator makes it: two steps and an exchange.
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

// A transform of `length` elements as a square of side floor(sqrt(length)): transforms along one axis, then the other.
// Throws InputError: O1482 for sizes below 1, O1490 where length (below 4) or radix (below 2) leave nothing to do,
// O1425 where the length is not a square, rounding to six digits aside, O1485 for products beyond 64 bits.
KernelGraph fft_graph(base::Count length, base::Count radix = 2, base::Count word_bytes = 4);

}  // namespace orrery::workload
