// An ONNX model's operators, from its file.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/formats/onnx/onnx_operators.h"
#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

struct OnnxRequest {
  std::string path;
  formats::onnx::OperatorOptions options;
};

struct OnnxModel {
  std::string name;  // of the file, without folders and suffix
  File file;         // its name alone
  formats::onnx::Operators operators;
  std::vector<base::Input> inputs;  // the file, and what the user defined
};

// Throws InputError: what the reader says (O0100, O0930 to O0936).
OnnxModel load_onnx(const OnnxRequest& request);

}  // namespace orrery::verbs
