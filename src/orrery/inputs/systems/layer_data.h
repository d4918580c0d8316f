// Numbers for a layer that is run to be measured or checked: drawn from a seed, the same for every type but for its
// rounding.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::verbs {

// A tensor in a type that layers are run in.
class LayerTensor {
 public:
  LayerTensor(kernels::Type type, layer::Index count);  // uninitialised
  kernels::Type type() const { return type_; }
  layer::Index count() const { return count_; }
  void* data() const { return buffer_.data(); }
  double get(layer::Index i) const;
  void set(layer::Index i, double value);  // rounded

 private:
  kernels::Type type_;
  layer::Index count_;
  kernels::Buffer buffer_;
};

// Evenly from -1 to 1; of one seed and stream always the same. A budget that is spent ends the drawing of both: the
// rest is no numbers then, and of weights not there.
void draw(LayerTensor& tensor, std::uint64_t seed, std::uint64_t stream, const base::Budget& budget = {});

// Matrices with variance 1 / inputs, small biases and shifts, scales around 1.
layer::Weights drawn_weights(const layer::Shape& shape, std::uint64_t seed, const base::Budget& budget = {});

// What the members of layer::Weights are called, in the order of all(), and their rows (0: a vector).
struct WeightName {
  const char* name;
  layer::Index rows;
};
std::vector<WeightName> weight_names(const layer::Shape& shape);

}  // namespace orrery::verbs
