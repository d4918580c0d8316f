// Rotary positions: pairs of a head's elements are turned by an angle that is the row's position times a frequency of
// the pair, (a, b) -> (a cos - b sin, b cos + a sin), so that the product of a query with a key depends on their
// distance only. Backwards the angle is negative. (J. Su et al., RoFormer, 2021.) Cost: a read and a write.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_product.h"
#include "orrery/runtime/kernels/compiled/kernel_rows.h"

namespace orrery::kernels {
namespace {

inline float number(float x) {
  return x;
}
inline float number(std::uint16_t x) {
  const std::uint32_t bits = std::uint32_t{x} << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline void assign(float& to, float x) {
  to = x;
}
inline void assign(std::uint16_t& to, float x) {
  to = static_cast<std::uint16_t>(rounded_bits(x));
}

template <class Element>
void rotate_as(const Rotate& x) {
  const Index half = x.turned / 2;
  const float sign = x.back ? -1.0F : 1.0F;
  for (Index row = 0; row < x.rows; ++row) {
    const float* cosines = x.cosines + x.positions[row] * half;
    const float* sines = x.sines + x.positions[row] * half;
    for (Index head = 0; head < x.heads; ++head) {
      Element* p = static_cast<Element*>(x.data) + row * x.row_stride + head * x.head_stride;
      if (x.pairs) {
        for (Index i = 0; i < half; ++i) {
          const float a = number(p[2 * i]), b = number(p[2 * i + 1]), c = cosines[i], s = sines[i] * sign;
          assign(p[2 * i], a * c - b * s);
          assign(p[2 * i + 1], b * c + a * s);
        }
        continue;
      }
      each_vector(half, [&](Index i, int n) {
        const F a = take(p + i, n), b = take(p + half + i, n), c = take(cosines + i, n), s = take(sines + i, n) * sign;
        put(p + i, a * c - b * s, n);
        put(p + half + i, b * c + a * s, n);
      });
    }
  }
}

inline void rotate(const Rotate& x) {
  x.type == Type::kBf16 ? rotate_as<std::uint16_t>(x) : rotate_as<float>(x);
}

}  // namespace
}  // namespace orrery::kernels
