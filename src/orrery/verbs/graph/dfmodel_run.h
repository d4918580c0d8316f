// A generated graph as a `dataflow_graph` of DFModel.
#pragma once

#include <string>

#include "orrery/inputs/graphs/generate_graph.h"

namespace orrery::verbs {

// "llm of gpt3-175b: 22 kernels, 30 connections".
std::string title_of(const GeneratedGraph& generated);

// The block, and before it as remarks: what it is, what of a model it does not show, and the execution that goes with
// it.
std::string graph_text(const GeneratedGraph& generated);

}  // namespace orrery::verbs
