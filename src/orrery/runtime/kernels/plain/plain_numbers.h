// For plain*.cc: elements of any type read and written as the numbers that sums are taken in.
#pragma once

#include <cmath>

#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/element_pointer.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::kernels::plain {

template <class Real>
Real load(const void* data, Type type, Index i) {
  switch (type) {
    case Type::kF64:
      return static_cast<Real>(static_cast<const double*>(data)[i]);
    case Type::kF16:
      return from_half(static_cast<const Half*>(data)[i]);
    case Type::kBf16:
      return from_bf16(static_cast<const Bf16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

template <class Real>
void store(void* data, Type type, Index i, Real x) {
  switch (type) {
    case Type::kF64:
      static_cast<double*>(data)[i] = x;
      break;
    case Type::kF16:
      static_cast<Half*>(data)[i] = to_half(static_cast<float>(x));
      break;
    case Type::kBf16:
      static_cast<Bf16*>(data)[i] = to_bf16(static_cast<float>(x));
      break;
    default:
      static_cast<float*>(data)[i] = static_cast<float>(x);
  }
}

// f(Real{}) for the type in which tensors of `type` are summed.
template <class Function>
void with_real(Type type, Function f) {
  type == Type::kF64 ? f(double{}) : f(float{});
}

// A row's number, in the form that plain.h states.
template <class Real>
Real& of_row(float* numbers, Index row) {
  return reinterpret_cast<Real*>(numbers)[row];
}

// The factor by which dropout multiplies an element.
inline float drop_factor(const DropPattern& pattern, Index row, Index column) {
  if (pattern.threshold == 0) return 1;
  return keeps(pattern, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column)) ? pattern.scale : 0.0F;
}

template <class Real>
Real activated(Activation which, Real x) {
  const Real half = Real{1} / 2;
  const auto logistic = [](Real v) { return 1 / (1 + std::exp(-v)); };
  const auto normal = [&](Real v) { return std::erfc(-v * std::sqrt(half)) / 2; };
  const Real scale = 2 * std::sqrt(2 / static_cast<Real>(M_PI)), cube = static_cast<Real>(0.044715);
  switch (which) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x <= 0 ? 0 : x;
    case Activation::kGelu:
      return x * normal(x);
    case Activation::kSilu:
      return x * logistic(x);
    case Activation::kGeluTanh:
      return x * logistic(scale * x * (1 + cube * x * x));
    case Activation::kReluSlope:
      return x > 0 ? 1 : x <= 0 ? 0 : x;
    case Activation::kGeluSlope:
      return normal(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * static_cast<Real>(M_PI));
    case Activation::kSiluSlope: {
      const Real s = logistic(x);
      return s * (1 + x * (1 - s));
    }
    case Activation::kGeluTanhSlope: {
      const Real s = logistic(scale * x * (1 + cube * x * x));
      return s * (1 + x * (1 - s) * scale * (1 + 3 * cube * x * x));
    }
  }
  return x;
}

}  // namespace orrery::kernels::plain
