#include "orrery/runtime/layer/linear.h"

#include "orrery/runtime/kernels/plain/plain.h"

namespace orrery::layer {

using kernels::Precision;
using kernels::Product;
using kernels::Type;

void Linear::set(kernels::Context& context, const std::vector<float>& weights, const std::vector<float>& bias) {
  bias_ = bias;
  if (kernels::plain::takes(type_)) {
    weights_ = weights;
    return;
  }
  const Precision precision = product(0, 0, 0).precision;
  forward_ = kernels::pack(context, {weights.data(), Type::kF32, 1, inputs_}, inputs_, outputs_, precision,
                           std::move(forward_));
  if (!training_) return;
  backward_ = kernels::pack(context, {weights.data(), Type::kF32, inputs_, 1}, outputs_, inputs_, precision,
                            std::move(backward_));
}

Product Linear::product(Index rows, Index columns, Index depth) const {
  Product p;
  p.rows = rows, p.columns = columns, p.depth = depth;
  p.precision = type_ == Type::kBf16 ? Precision::kBf16 : Precision::kF32;
  return p;
}

Product Linear::apply(Index rows, const void* x, void* y) const {
  Product p = product(rows, outputs_, inputs_);
  p.a = {x, type_, inputs_};
  if (kernels::plain::takes(type_)) {
    p.b = {weights_.data(), Type::kF32, 1, inputs_};
  } else {
    p.packed_b = &forward_;
  }
  p.bias = bias_.empty() ? nullptr : bias_.data();
  p.c = {y, type_, outputs_, 0};
  return p;
}

Product Linear::apply_back(Index rows, const void* dy, void* dx) const {
  Product p = product(rows, inputs_, outputs_);
  p.a = {dy, type_, outputs_};
  if (kernels::plain::takes(type_)) {
    p.b = {weights_.data(), Type::kF32, inputs_, 1};
  } else {
    p.packed_b = &backward_;
  }
  p.c = {dx, type_, inputs_, 0};
  return p;
}

Product Linear::weight_gradient(Index rows, const void* dy, const void* x, std::vector<float>& dw,
                                std::vector<float>& db) const {
  Product p = product(outputs_, inputs_, rows);
  p.a = {dy, type_, 1, outputs_};
  p.b = {x, type_, inputs_};
  p.c = {dw.data(), Type::kF32, inputs_, 0};
  if (!db.empty()) p.row_sums = db.data();
  return p;
}

}  // namespace orrery::layer
