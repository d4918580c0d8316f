// One token of a language model being generated, as a graph of kernels (DFModel's decode generator): of plain layers 20
// kernels and 23 edges each.
#pragma once

#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/describe/workload/graphs/language_model_graph.h"

namespace orrery::workload {

// The token attends to `tokens` tokens, itself among them; the keys and values of the others are read from memory, of a
// window those that it still holds. `chips` share weights and cache: `memory_bytes` is what one of them reads. Several
// layers follow each other from Add_2 to Add_Prev_Layer, and each name ends in `_layer_<n>`.
//
// Throws InputError as language_model_graph does.
KernelGraph decode_graph(const GraphLayers& layers, const GraphTokens& tokens);

}  // namespace orrery::workload
