// Operators on whole rows: layer normalisation, its RMS form, softmax, forwards and backwards.
//
// LayerNorm: y = x^ s + b with x^ = (x - mean) / sqrt(variance + epsilon); the variance is the mean of (x - mean)^2 in
// a pass of its own, since E[x^2] - mean^2 loses all digits of rows far from zero. Backwards, with g = dy s and r = 1 /
// deviation:
//   dx = r (g - mean(g) - x^ mean(g x^)),  ds = sum over rows of dy x^,  db = sum over rows of dy.
// RMSNorm has no means: y = x r s, dx = r (g - x^ mean(g x^)).
// Softmax: y = e^(c x - m) / sum, m the row's maximum of c x; dx = c y (dy - sum(dy y)). A row of nothing but -inf has
// NaN. (J. Ba et al. 2016; B. Zhang, R. Sennrich 2019.) Cost: a row is read from memory once and from the cache two or
// three times.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_math.h"
#include "orrery/runtime/kernels/compiled/lanes.h"
#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {
namespace {

// f(column, lanes) for each vector of a row.
template <class Function>
__attribute__((always_inline)) inline void each_vector(Index columns, Function f) {
  Index i = 0;
  for (; i + kLanes <= columns; i += kLanes) f(i, kLanes);
  if (i < columns) f(i, static_cast<int>(columns - i));
}

template <class Element>
__attribute__((always_inline)) inline F take(const Element* p, int n) {
  return n == kLanes ? load_as_float(p) : load_as_float(p, n);
}
template <class Element>
void put(Element* p, F x, int n) {
  n == kLanes ? store_from_float(p, x) : store_from_float(p, x, n);
}
// The first n lanes, zeros behind.
inline F cut(F x, int n) {
  return n == kLanes ? x : where_bits((1U << n) - 1U, x, F{});
}

template <class In, class Out>
void normalise_as(const Normalise& x) {
  const float share = 1.0F / static_cast<float>(x.columns);
  for (Index row = 0; row < x.rows; ++row) {
    const In* in = static_cast<const In*>(x.in) + row * x.in_stride;
    Out* out = static_cast<Out*>(x.out) + row * x.out_stride;
    Out* standard = x.standard == nullptr ? nullptr : static_cast<Out*>(x.standard) + row * x.standard_stride;
    float mean = 0;
    if (x.centred) {
      F sum = {};
      each_vector(x.columns, [&](Index i, int n) { sum += take(in + i, n); });
      mean = sum_of(sum) * share;
    }
    F squares = {};
    each_vector(x.columns, [&](Index i, int n) {
      const F off = cut(take(in + i, n) - mean, n);
      squares = fma(off, off, squares);
    });
    const float inverse = 1.0F / __builtin_sqrtf(sum_of(squares) * share + x.epsilon);
    if (x.inverse != nullptr) x.inverse[row] = inverse;
    each_vector(x.columns, [&](Index i, int n) {
      F y = (take(in + i, n) - mean) * inverse;
      if (standard != nullptr) put(standard + i, y, n);
      if (x.scale != nullptr) y *= take(x.scale + i, n);
      if (x.shift != nullptr) y += take(x.shift + i, n);
      put(out + i, y, n);
    });
  }
}

inline void normalise(const Normalise& x) {
  const bool bf16_in = x.in_type == Type::kBf16, bf16_out = x.out_type == Type::kBf16;
  if (bf16_in) {
    bf16_out ? normalise_as<std::uint16_t, std::uint16_t>(x) : normalise_as<std::uint16_t, float>(x);
  } else {
    bf16_out ? normalise_as<float, std::uint16_t>(x) : normalise_as<float, float>(x);
  }
}

template <class Element>
void normalise_back_as(const NormaliseBack& x) {
  const float share = 1.0F / static_cast<float>(x.columns);
  for (Index row = 0; row < x.rows; ++row) {
    const Element* dy = static_cast<const Element*>(x.gradient) + row * x.gradient_stride;
    const Element* standard = static_cast<const Element*>(x.standard) + row * x.standard_stride;
    const Element* residual =
        x.residual == nullptr ? nullptr : static_cast<const Element*>(x.residual) + row * x.residual_stride;
    Element* out = static_cast<Element*>(x.out) + row * x.out_stride;
    F sums = {}, products = {};
    each_vector(x.columns, [&](Index i, int n) {
      const F d = take(dy + i, n), s = take(standard + i, n);
      const F g = x.scale == nullptr ? d : d * take(x.scale + i, n);
      sums += g;
      products = fma(g, s, products);
      if (x.scale_gradient != nullptr) put(x.scale_gradient + i, fma(d, s, take(x.scale_gradient + i, n)), n);
      if (x.shift_gradient != nullptr) put(x.shift_gradient + i, take(x.shift_gradient + i, n) + d, n);
    });
    const F mean = all(x.centred ? sum_of(sums) * share : 0.0F);
    const F slope = all(sum_of(products) * share);
    const float inverse = x.inverse[row];
    each_vector(x.columns, [&](Index i, int n) {
      const F d = take(dy + i, n);
      const F g = x.scale == nullptr ? d : d * take(x.scale + i, n);
      F dx = (g - mean - take(standard + i, n) * slope) * inverse;
      if (residual != nullptr) dx += take(residual + i, n);
      put(out + i, dx, n);
    });
  }
}

inline void normalise_back(const NormaliseBack& x) {
  x.type == Type::kBf16 ? normalise_back_as<std::uint16_t>(x) : normalise_back_as<float>(x);
}

template <class Element>
void softmax_as(const Softmax& x) {
  for (Index row = 0; row < x.rows; ++row) {
    const Element* in = static_cast<const Element*>(x.in) + row * x.in_stride;
    Element* out = static_cast<Element*>(x.out) + row * x.out_stride;
    F most = all(-__builtin_inff());
    each_vector(x.columns, [&](Index i, int n) {
      const F v = take(in + i, n) * x.scale;
      most = largest(most, n == kLanes ? v : where_bits((1U << n) - 1U, v, most));
    });
    const float top = maximum_of(most);
    F sums = {};
    each_vector(x.columns, [&](Index i, int n) { sums += cut(exponential(take(in + i, n) * x.scale - top), n); });
    const float share = 1.0F / sum_of(sums);
    each_vector(x.columns,
                [&](Index i, int n) { put(out + i, exponential(take(in + i, n) * x.scale - top) * share, n); });
  }
}

inline void softmax(const Softmax& x) {
  x.type == Type::kBf16 ? softmax_as<std::uint16_t>(x) : softmax_as<float>(x);
}

template <class Element>
void softmax_back_as(const Softmax& x) {
  for (Index row = 0; row < x.rows; ++row) {
    const Element* y = static_cast<const Element*>(x.in) + row * x.in_stride;
    const Element* dy = static_cast<const Element*>(x.gradient) + row * x.gradient_stride;
    Element* out = static_cast<Element*>(x.out) + row * x.out_stride;
    F products = {};
    each_vector(x.columns, [&](Index i, int n) { products = fma(take(y + i, n), take(dy + i, n), products); });
    const float sum = sum_of(products);
    each_vector(x.columns,
                [&](Index i, int n) { put(out + i, take(y + i, n) * (take(dy + i, n) - sum) * x.scale, n); });
  }
}

inline void softmax_back(const Softmax& x) {
  x.type == Type::kBf16 ? softmax_back_as<std::uint16_t>(x) : softmax_back_as<float>(x);
}

}  // namespace
}  // namespace orrery::kernels
