// The JSON document of `graph` with an ONNX model: schema "orrery.operators/1". The keys are a contract with users'
// scripts.
#pragma once

#include "orrery/inputs/graphs/onnx_model.h"
#include "orrery/present/answer.h"

namespace orrery::verbs {

Document<OnnxModel> operators_document();

}  // namespace orrery::verbs
