// Layers of a language model as a graph of kernels, as DFModel's generators make them (kosho2013/DFModel,
// arXiv 2412.16432): of plain layers, forward 18 kernels and 21 edges a layer, forward and backward 41 and 53. Other
// layers have further kernels in the same frame.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

enum class Passes { kForward, kForwardBackward, kBackward };

// Layers that follow each other: `count` of a stack, from layer `first` (from 0) on. Where all layers of the stack are
// alike, there may be more of them than it has. The blocks are the stack's, which must outlive them.
struct GraphLayers {
  base::Count width = 0;
  std::vector<const Block*> blocks;
};
// Finds fewer than one (O1482), more than a graph may hold (O1486) and layers that the stack does not have (O1489).
GraphLayers layers_of(const Stack& stack, base::Count first, base::Count count, base::Diagnostics& found);

struct GraphTokens {
  base::Count tokens = 1;      // of the sequence; of a token generated, those that it attends to, itself among them
  base::Count word_bytes = 2;  // of an element
  base::Count source = 0;      // of the encoder's output, for cross attention; 0: `tokens`
  base::Count chips = 1;       // that share weights and caches
};

// `layers` on one sequence. The kernels of all forward layers come first, then those of the backward layers, the last
// layer's first. With several layers each name ends in `_layer_<n>`, n from 1.
//
// kBackward is the backward part alone, of plain layers 23 kernels and 22 edges: what the forward pass kept comes from
// memory.
//
// Throws InputError: O1482 for sizes below 1, O1483 for heads that do not fit, O1485 for products beyond 64 bits, O1486
// for more than kMostKernels kernels.
KernelGraph language_model_graph(const GraphLayers& layers, const GraphTokens& tokens, Passes passes);

}  // namespace orrery::workload
