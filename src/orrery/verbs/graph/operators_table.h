// The operators of an ONNX model, for people.
#pragma once

#include <string>

#include "orrery/inputs/graphs/onnx_model.h"

namespace orrery::verbs {

// A row an operator: its shapes, its operations, and of products the layer that `map` makes of it.
std::string operators_table(const OnnxModel& model);

}  // namespace orrery::verbs
