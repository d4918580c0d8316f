// The JSON document of `graph` with an ONNX model: schema "orrery.operators/1". The keys are a contract with users'
// scripts.
#pragma once

#include <string>

#include "orrery/inputs/graphs/onnx_model.h"

namespace orrery::verbs {

struct OperatorsDocument {
  std::string version;
  const OnnxModel* model = nullptr;  // borrowed
  double seconds = 0;                // wall clock of the whole command
};

// Indented, ending in a newline. All but `timing` is a pure function of the input.
std::string operators_json(const OperatorsDocument& document);

}  // namespace orrery::verbs
