// The shape of every tensor of a model: what the file says of it, else what the operators make of their inputs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/formats/onnx/onnx_file.h"
#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {

struct Shapes {
  std::unordered_map<std::string, Facts> of;  // by the tensor's name
  // The node that first made a tensor of unknown shape from known ones, by what depends on it.
  std::unordered_map<std::string, std::size_t> lost_at;

  // Null: not known, or a dimension of it is not.
  const Shape* whole(const std::string& tensor) const;
};

// `defined` are sizes of open dimensions: symbols, and `x[0]` for one of input `x`. Throws InputError:
// O0931 beyond counting, O0932 with all dimensions that are still open, O0933 for sizes that none asked for, O0934
// where a tensor comes from nowhere or twice, O0935 where shapes do not fit.
Shapes infer_shapes(const Model& model, const base::Overrides& defined);

}  // namespace orrery::formats::onnx
