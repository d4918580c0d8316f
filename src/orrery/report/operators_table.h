// The operators of an ONNX model, for people.
#pragma once

#include <string>

#include "orrery/scenario/onnx_model.h"

namespace orrery::report {

// A row an operator: its shapes, its operations, and of products the layer that `map` makes of it.
std::string operators_table(const scenario::OnnxModel& model);

}  // namespace orrery::report
