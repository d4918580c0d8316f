// High-performance Linpack as a graph of kernels, as DFModel's generator makes it: one trailing update a block column.
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

// LU factorisation of an n x n matrix in blocks of `block` columns: a chain of n / block kernels. Throws InputError:
// O1482 for sizes below 1, O1484 where `block` does not divide `n`, O1485 for products beyond 64 bits, O1486 for more
// than kMostKernels kernels.
KernelGraph hpl_graph(base::Count n, base::Count block, base::Count word_bytes = 8);

}  // namespace orrery::workload
