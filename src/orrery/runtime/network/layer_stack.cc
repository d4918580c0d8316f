// Training keeps the input of every layer, from which each computes its gradients; inference uses two buffers in turn.
// With pre-norm a last norm follows. Between layers the stream has the layers' type; what leaves the stack is fp32.
#include "orrery/runtime/network/layer_stack.h"

#include <algorithm>
#include <cstring>

#include "orrery/runtime/kernels/rows.h"

namespace orrery::network {
namespace {

std::uint64_t layer_seed(std::uint64_t seed, std::size_t layer) {
  // One seed a layer: neighbouring ones are independent by Philox.
  return seed + 0x9e3779b97f4a7c15ULL * (layer + 1);
}

}  // namespace

Stack::Stack(kernels::Context& context, const StackShape& shape, const StackWeights& weights, float epsilon,
             bool training, const std::shared_ptr<layer::Workspace>& workspace)
    : context_(context), shape_(shape), epsilon_(epsilon), training_(training) {
  const Index rows = shape.layer.batch * shape.layer.length, width = shape.layer.width;
  const auto bytes = static_cast<std::size_t>(rows * width * kernels::bytes_of(shape.layer.type));
  for (const layer::Weights& one : weights.layers) layers_.emplace_back(context, shape.layer, one, training, workspace);
  const std::size_t buffers = training ? layers_.size() + 1 : 2;
  for (std::size_t i = 0; i < buffers; ++i) streams_.emplace_back(bytes);
  if (shape.final_norm || shape.layer.type != kernels::Type::kF32) out_.resize(static_cast<std::size_t>(rows * width));
  if (shape.final_norm && shape.layer.type != kernels::Type::kF32) typed_ = kernels::Buffer(bytes);
  if (shape.final_norm && training) {
    standard_.resize(static_cast<std::size_t>(rows * width));
    inverse_.resize(static_cast<std::size_t>(rows));
  }
}

void Stack::set_weights(const StackWeights& weights) {
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].set_weights(weights.layers[i]);
}

Index Stack::rows(const layer::Input& given) const {
  return (given.batch == 0 ? shape_.layer.batch : given.batch) *
         (given.length == 0 ? shape_.layer.length : given.length);
}

const float* Stack::finish(const void* last, const layer::Input& given, const StackWeights& weights) {
  const Index width = shape_.layer.width;
  const kernels::Type type = shape_.layer.type;
  last_ = last, last_rows_ = rows(given);
  if (shape_.final_norm) {
    kernels::Normalise norm;
    norm.in = last, norm.in_type = type;
    norm.in_stride = norm.out_stride = norm.standard_stride = width;
    norm.rows = last_rows_, norm.columns = width;
    norm.epsilon = epsilon_;
    norm.scale = weights.scale.data(), norm.shift = weights.shift.data();
    norm.out = out_.data();
    if (training_) norm.standard = standard_.data(), norm.inverse = inverse_.data();
    kernels::normalise(context_, norm);
    last_ = out_.data();
    if (type == kernels::Type::kF32) return out_.data();
  } else if (type == kernels::Type::kF32) {
    return static_cast<const float*>(last);
  }
  // fp32 beside the layers' type.
  kernels::Finish copy;
  copy.in_stride = copy.out_stride = width;
  copy.rows = last_rows_, copy.columns = width;
  if (shape_.final_norm) {
    copy.in = out_.data();
    copy.out = typed_.data(), copy.out_type = type;
    last_ = typed_.data();
  } else {
    copy.in = last, copy.in_type = type;
    copy.out = out_.data();
  }
  kernels::finish(context_, copy);
  return out_.data();
}

const void* Stack::typed_output() const {
  return last_;
}

const float* Stack::infer(layer::Input given, const StackWeights& weights) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    given.x = streams_[training_ ? i : i % 2].data();
    layers_[i].infer(given, streams_[training_ ? i + 1 : (i + 1) % 2].data());
  }
  return finish(streams_[training_ ? layers_.size() : layers_.size() % 2].data(), given, weights);
}

const float* Stack::infer(layer::Input given, const StackWeights& weights, std::vector<layer::Cache>& caches) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    given.x = streams_[i % 2].data();
    layers_[i].infer(given, streams_[(i + 1) % 2].data(), caches[i]);
  }
  return finish(streams_[layers_.size() % 2].data(), given, weights);
}

const float* Stack::forward(layer::Input given, const StackWeights& weights, const layer::Dropout& dropout,
                            std::uint64_t seed) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    given.x = streams_[i].data();
    layers_[i].forward(given, streams_[i + 1].data(), dropout, layer_seed(seed, i));
  }
  return finish(streams_.back().data(), given, weights);
}

const void* Stack::backward(const float* gradient, const StackWeights& weights, StackWeights& gradients, void* memory) {
  const Index width = shape_.layer.width;
  const kernels::Type type = shape_.layer.type;
  // The last output is no longer needed: its buffer takes the gradient. A layer's dx may lie neither in its x nor in
  // dy, so that one buffer more takes turns with it.
  void* const last = streams_.back().data();
  if (shape_.final_norm) {
    kernels::NormaliseBack norm;
    norm.gradient = gradient, norm.standard = standard_.data(), norm.inverse = inverse_.data();
    norm.gradient_stride = norm.standard_stride = norm.out_stride = width;
    norm.rows = last_rows_, norm.columns = width;
    norm.scale = weights.scale.data();
    norm.out = out_.data();
    norm.scale_gradient = gradients.scale.data(), norm.shift_gradient = gradients.shift.data();
    kernels::normalise_back(context_, norm);
    gradient = out_.data();
  }
  kernels::Finish copy;
  copy.in = gradient;
  copy.in_stride = copy.out_stride = width;
  copy.rows = last_rows_, copy.columns = width;
  copy.out = last, copy.out_type = type;
  kernels::finish(context_, copy);

  if (spare_.bytes() == 0) spare_ = kernels::Buffer(streams_.back().bytes());
  void* dy = last;
  void* dx = spare_.data();
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i].backward(dy, {dx, memory, memory != nullptr}, gradients.layers[i]);
    std::swap(dy, dx);
  }
  return dy;
}

}  // namespace orrery::network
