// Layers of a language model as a graph of kernels, as DFModel's generators make them (kosho2013/DFModel,
// arXiv 2412.16432): forward 18 kernels and 21 edges a layer, forward and backward 41 and 53.
#pragma once

#include "orrery/base/count.h"
#include "orrery/workload/kernel_graph.h"
#include "orrery/workload/transformer_shape.h"

namespace orrery::workload {

enum class Passes { kForward, kForwardBackward, kBackward };

// `layers` layers on one sequence of `sequence` tokens. The kernels of all forward layers come first, then those of the
// backward layers, the last layer's first. With several layers each name ends in `_layer_<n>`, n from 1.
//
// kBackward is the backward part alone, 23 kernels and 22 edges a layer: what the forward pass kept comes from memory.
//
// Throws InputError: O1482 for sizes below 1, O1483 for heads that do not fit, O1485 for products beyond 64 bits, O1486
// for more than kMostKernels kernels.
KernelGraph language_model_graph(const TransformerShape& shape, base::Count sequence, Passes passes,
                                 base::Count layers = 1);

}  // namespace orrery::workload
