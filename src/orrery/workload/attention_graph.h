// Attention and feed-forward network without norms and residuals, as DFModel compares them with state-space models: 8
// kernels and 7 edges.
#pragma once

#include "orrery/base/count.h"
#include "orrery/workload/kernel_graph.h"
#include "orrery/workload/transformer_shape.h"

namespace orrery::workload {

// On one sequence of `sequence` tokens. The second product of attention is tiled along the keys (K), all else along the
// tokens. Throws InputError: O1482 for sizes below 1, O1483 for heads that do not fit, O1485 for products beyond 64
// bits.
KernelGraph attention_graph(const TransformerShape& shape, base::Count sequence);

}  // namespace orrery::workload
