// How far a layer's numbers are from those of a wider type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::verbs {

// A tensor of the layer against the same in the reference.
struct TensorError {
  std::string name;      // "y", "dx", "d_qkv", ...
  double max_error = 0;  // largest difference over the reference's largest number
  double rms_error = 0;  // root mean square of the differences over that of the reference
};

// A tensor as a file has it.
struct KeptTensor {
  std::string name;
  std::vector<layer::Index> sizes;
  std::vector<float> values;
};

struct LayerCheck {
  layer::Shape shape;  // as checked: fewer and shorter sequences where all would take too long
  kernels::Type against = kernels::Type::kF64;
  std::vector<TensorError> tensors;
  double max_error = 0;  // the largest of them
  double rms_error = 0;
  double tolerance = 0;  // that rms_error should keep to
  std::vector<KeptTensor> kept;
  bool passed() const { return rms_error <= tolerance; }  // nan does not
};

// Runs the layer and the reference on the same numbers, without dropout, backwards too when training. `keep`: the input
// and weights, and what came out of the layer, for others to compare. `layout`: the file that the layer runs by, empty:
// as it is built in; the reference always is.
LayerCheck check_layer(kernels::Context& context, const layer::Shape& shape, kernels::Type against, bool training,
                       std::uint64_t seed, bool keep, const std::string& layout = {});

// Bytes that this takes at once.
double bytes_to_check(const layer::Shape& shape, kernels::Type against, bool training);

}  // namespace orrery::verbs
