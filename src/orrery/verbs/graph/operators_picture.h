// The operators of an ONNX model as a drawing.
#pragma once

#include <string>

#include "orrery/inputs/graphs/onnx_model.h"
#include "orrery/present/graph_picture.h"

namespace orrery::verbs {

// A node an operator, with its type and, of products, what `map` makes of it; an edge a tensor with its shape. `graph`
// is where the picture's graph is kept; it must outlive the picture.
GraphPicture operators_picture(const OnnxModel& model, workload::KernelGraph& graph);

// "E=512 D=64 L=128".
std::string bounds_text(const workload::Einsum& einsum);

}  // namespace orrery::verbs
