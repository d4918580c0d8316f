// Layers one behind the other.
#pragma once

#include <memory>
#include <vector>

#include "orrery/runtime/layer/encoder.h"
#include "orrery/runtime/network/description.h"
#include "orrery/runtime/network/parameters.h"

namespace orrery::network {

class Stack {
 public:
  // `shape.layer` has the batch and the length that are the most.
  Stack(kernels::Context& context, const StackShape& shape, const StackWeights& weights, float epsilon, bool training,
        const std::shared_ptr<layer::Workspace>& workspace);

  void set_weights(const StackWeights& weights);

  // Where the first layer's input is to be written: [batch][length][width] in the layers' type.
  void* input() { return streams_.front().data(); }

  // `given`: all but x. What is returned is fp32, [batch][length][width], until the next call.
  const float* infer(layer::Input given, const StackWeights& weights);
  const float* infer(layer::Input given, const StackWeights& weights, std::vector<layer::Cache>& caches);
  const float* forward(layer::Input given, const StackWeights& weights, const layer::Dropout& dropout,
                       std::uint64_t seed);

  // The gradient of the output, fp32, to that of the input (returned, in the layers' type) and of all weights.
  // `memory`: of the encoder's output, set to zero by the caller, summed over the layers; null: there is none.
  const void* backward(const float* gradient, const StackWeights& weights, StackWeights& gradients, void* memory);

  // The output in the layers' type, before it is made fp32: what a decoder's layers look at.
  const void* typed_output() const;
  layer::Encoder& layer(Index i) { return layers_[static_cast<std::size_t>(i)]; }
  Index layers() const { return static_cast<Index>(layers_.size()); }

 private:
  const float* finish(const void* last, const layer::Input& given, const StackWeights& weights);
  Index rows(const layer::Input& given) const;

  kernels::Context& context_;
  StackShape shape_;
  float epsilon_;
  bool training_;
  std::vector<layer::Encoder> layers_;
  std::vector<kernels::Buffer> streams_;  // training: the input of each layer and the last output; else two in turn
  kernels::Buffer typed_;                 // behind the final norm
  kernels::Buffer spare_;                 // of gradients
  const void* last_ = nullptr;
  Index last_rows_ = 0;
  std::vector<float> out_, standard_, inverse_;
};

}  // namespace orrery::network
