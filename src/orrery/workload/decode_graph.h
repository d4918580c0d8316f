// One token of a language model being generated, as a graph of kernels (DFModel's decode generator): 20 kernels and 23
// edges a layer.
#pragma once

#include "orrery/base/count.h"
#include "orrery/workload/kernel_graph.h"
#include "orrery/workload/transformer_shape.h"

namespace orrery::workload {

// The token attends to `context` tokens, itself among them; the keys and values of the others are read from memory.
// `chips` share weights and cache: `memory_bytes` is what one of them reads. Several layers follow each other from
// Add_2 to Add_Prev_Layer, and each name ends in `_layer_<n>`.
//
// Throws InputError: O1482 for sizes below 1, O1483 for heads that do not fit, O1485 for products beyond 64 bits, O1486
// for more than kMostKernels kernels.
KernelGraph decode_graph(const TransformerShape& shape, base::Count context, base::Count chips = 1,
                         base::Count layers = 1);

}  // namespace orrery::workload
