// Attention and feed-forward network without norms and residuals, as DFModel compares them with state-space models: 8
// kernels and 7 edges.
#pragma once

#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/describe/workload/graphs/language_model_graph.h"

namespace orrery::workload {

// The first of `layers` on one sequence. The second product of attention is tiled along the keys (K), all else along
// the tokens. Throws InputError: O1482 for sizes below 1, O1483 for heads that are not as wide as the model together,
// O1485 for products beyond 64 bits, O1488 for other layers than plain ones.
KernelGraph attention_graph(const GraphLayers& layers, const GraphTokens& tokens);

}  // namespace orrery::workload
