// exp, the normal distribution and the activations that use it.
//
// exp(x) = 2^n e^r with n = x / ln 2 rounded and |r| <= ln 2 / 2; ln 2 is subtracted in two parts, the first of which
// has so few bits that n times it is exact. e^r = 1 + r + r^2 q(r), q of degree 5 through the Chebyshev nodes. Error
// over all floats (math_test.cc): at most 1 ulp with fused multiply-add, 2 without.
//
// Phi(-|x|) = exp(-x^2 / 2) erfcx(|x| / sqrt 2) / 2, and erfcx(z) = t g(t) with t = 1 / (1 + 0.35 z) is so smooth that
// g of degree 9 suffices, 4e-8 off. The rounding error of x^2, which exp would enlarge by x^2 / 2, is put back as a
// factor. Relative error of x Phi(x) at most 5e-7 wherever it is a normal float, the left tail included (without fused
// multiply-add 1e-7 x^2 more). GELU(x) = x Phi(x); GELU'(x) = Phi(x) + x phi(x). At -inf both are NaN, as inf times 0
// is.
#pragma once

#include "orrery/runtime/kernels/compiled/lanes.h"
#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {
namespace {

__attribute__((always_inline)) inline F exponential(F x) {
  // Beyond these the result is 0 or infinite; NaN stays, since it is the second argument.
  const F y = smaller(all(89.0F), larger(all(-105.0F), x));
  const F n = nearest(y * 1.44269504088896341F);
  F r = fma(n, all(-0.693359375F), y);
  r = fma(n, all(2.12194440054690583e-4F), r);
  F q = all(0.000198909882F);
  q = fma(q, r, all(0.00139336474F));
  q = fma(q, r, all(0.00833331048F));
  q = fma(q, r, all(0.0416664667F));
  q = fma(q, r, all(0.166666672F));
  q = fma(q, r, all(0.5F));
  const F tail = fma(r * r, q, r);
  return scaled(tail + 1.0F, n);
}

struct Normal {
  F below;    // Phi(x)
  F density;  // sqrt(2 pi) phi(x)
};

inline Normal normal(F x) {
  const F square = x * x;
  // Of an infinite or overflowed square nothing is put back: infinity minus infinity would be NaN.
  const F lost = square < all(1e30F) ? fma(x, x, -square) : F{};
  const F e = exponential(square * -0.5F);
  const F density = fma(e, lost * -0.5F, e);
  const F t = all(1.0F) / fma(magnitude(x), all(0.35F * 0.70710678118654752F), all(1.0F));
  F g = all(0.0359092169F);
  g = fma(g, t, all(-0.145313427F));
  g = fma(g, t, all(0.149211094F));
  g = fma(g, t, all(0.0156881586F));
  g = fma(g, t, all(0.0505300537F));
  g = fma(g, t, all(0.165894523F));
  g = fma(g, t, all(0.14420779F));
  g = fma(g, t, all(0.189428851F));
  g = fma(g, t, all(0.196949974F));
  g = fma(g, t, all(0.197493777F));
  const F tail = g * t * density * 0.5F;
  return {x > F{} ? 1.0F - tail : tail, density};
}

// 1 / (1 + e^-x) and 1 minus that, both without cancellation.
struct Logistic {
  F value, rest;
};

inline Logistic logistic(F x) {
  const F e = exponential(-magnitude(x));
  const F large = all(1.0F) / (e + 1.0F), small = e * large;
  const auto right = x > F{};
  return {right ? large : small, right ? small : large};
}

// (1 + tanh(u)) / 2 is the logistic function of 2 u.
constexpr float kTanhScale = 1.59576912160573071F;  // 2 sqrt(2 / pi)
inline F tanh_argument(F x) {
  return x * fma(x * x, all(kTanhScale * 0.044715F), all(kTanhScale));
}

template <Activation kWhich>
F activated(F x) {
  if constexpr (kWhich == Activation::kRelu) return larger(F{}, x);  // NaN stays
  if constexpr (kWhich == Activation::kGelu) return x * normal(x).below;
  if constexpr (kWhich == Activation::kSilu) return x * logistic(x).value;
  if constexpr (kWhich == Activation::kGeluTanh) return x * logistic(tanh_argument(x)).value;
  if constexpr (kWhich == Activation::kReluSlope) return x > F{} ? all(1.0F) : x == x ? F{} : x;
  if constexpr (kWhich == Activation::kGeluSlope) {
    const Normal n = normal(x);
    return fma(x * 0.398942280401432678F, n.density, n.below);
  }
  if constexpr (kWhich == Activation::kSiluSlope) {
    const Logistic s = logistic(x);
    return s.value * fma(x, s.rest, all(1.0F));
  }
  if constexpr (kWhich == Activation::kGeluTanhSlope) {
    const Logistic s = logistic(tanh_argument(x));
    const F rise = fma(x * x, all(3 * kTanhScale * 0.044715F), all(kTanhScale)) * s.rest;  // of the argument
    // Where the logistic function has reached 0 or 1 it is flat, however fast its argument grows.
    const F slope = s.value * fma(x, s.rest == F{} ? F{} : rise, all(1.0F));
    return s.value == F{} ? F{} : slope;
  }
  return x;
}

constexpr bool is_slope(Activation which) {
  return which >= Activation::kReluSlope;
}

template <class Function>
void over(const float* in, float* out, Index count, Function f) {
  Index i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, f(load(in + i)));
  const int n = static_cast<int>(count - i);
  if (n > 0) store(out + i, f(load(in + i, n)), n);
}

inline void exponentials(const float* in, float* out, Index count) {
  over(in, out, count, [](F x) { return exponential(x); });
}

// Calls f with the activation as a compile-time constant.
template <class Function>
void with_activation(Activation which, Function f) {
  switch (which) {
    case Activation::kNone:
      return f.template operator()<Activation::kNone>();
    case Activation::kRelu:
      return f.template operator()<Activation::kRelu>();
    case Activation::kGelu:
      return f.template operator()<Activation::kGelu>();
    case Activation::kSilu:
      return f.template operator()<Activation::kSilu>();
    case Activation::kGeluTanh:
      return f.template operator()<Activation::kGeluTanh>();
    case Activation::kReluSlope:
      return f.template operator()<Activation::kReluSlope>();
    case Activation::kGeluSlope:
      return f.template operator()<Activation::kGeluSlope>();
    case Activation::kSiluSlope:
      return f.template operator()<Activation::kSiluSlope>();
    case Activation::kGeluTanhSlope:
      return f.template operator()<Activation::kGeluTanhSlope>();
  }
}

inline void activations(Activation which, const float* in, float* out, Index count) {
  with_activation(which, [&]<Activation kWhich>() { over(in, out, count, [](F x) { return activated<kWhich>(x); }); });
}

}  // namespace
}  // namespace orrery::kernels
