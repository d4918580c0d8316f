#include "orrery/inputs/graphs/onnx_model.h"

#include <utility>

#include <fmt/format.h>

#include "orrery/formats/onnx/onnx_reader.h"

namespace orrery::verbs {

OnnxModel load_onnx(const OnnxRequest& request) {
  const formats::onnx::Model model = formats::onnx::read(request.path);
  OnnxModel out;
  out.name = stem(request.path);
  out.file = model.file;
  out.operators = formats::onnx::find_operators(model, request.options);
  out.inputs.push_back({request.path, model.hash});
  for (const base::Override& define : request.options.defined)
    out.inputs.push_back({fmt::format("--define {}={}", define.path, define.value), base::content_hash(define.value)});
  return out;
}

}  // namespace orrery::verbs
