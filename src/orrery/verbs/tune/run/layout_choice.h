// Substation's layout file (JSON) as a choice that runs on a graph.
#pragma once

#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/layer/shape.h"
#include "orrery/runtime/tuning/graph_run.h"

namespace orrery::verbs {

// Throws InputError O1746, all problems at once: no such file's form, tensors, dimensions or layouts that the layer
// does not have or that cannot be run together. Warns with O1748 of algorithms, which are those of a GPU's library.
tuning::LayoutChoice read_layout_choice(const std::string& path, const tuning::Graph& graph,
                                        base::Diagnostics& warnings);

// Whether the layer consists of the operators of that graph.
bool is_of_graph(const layer::Shape& shape);

// The graph that layout files are of. Throws InputError O1747 where the layer has other operators.
tuning::Graph graph_of_layer(const layer::Shape& shape);

}  // namespace orrery::verbs
