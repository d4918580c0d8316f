// A linear map y = W x + b and its gradients: dx = W^T dy, dW = dy^T x, db the sums of dy's columns, which are taken
// while dy^T is packed.
#pragma once

#include <vector>

#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::layer {

class Linear {
 public:
  Linear(Index inputs, Index outputs, kernels::Type type, bool training)
      : inputs_(inputs), outputs_(outputs), type_(type), training_(training) {}

  Index inputs() const { return inputs_; }
  Index outputs() const { return outputs_; }

  // Takes the weights in the form in which products want them: packed for x -> y and, when training, for dy -> dx.
  // Repeated, in the memory of the first time.
  void set(kernels::Context& context, const std::vector<float>& weights, const std::vector<float>& bias);

  // Products to be completed by the caller. Tensors are rows without gaps, in the map's type.
  kernels::Product apply(Index rows, const void* x, void* y) const;
  kernels::Product apply_back(Index rows, const void* dy, void* dx) const;
  // db is left alone where there is no bias.
  kernels::Product weight_gradient(Index rows, const void* dy, const void* x, std::vector<float>& dw,
                                   std::vector<float>& db) const;

 private:
  kernels::Product product(Index rows, Index columns, Index depth) const;

  Index inputs_, outputs_;
  kernels::Type type_;
  bool training_;
  kernels::PackedOperand forward_, backward_;
  std::vector<float> weights_;  // where products take them as they are (plain.h)
  std::vector<float> bias_;
};

}  // namespace orrery::layer
