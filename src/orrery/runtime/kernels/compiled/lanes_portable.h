// Four lanes in plain C++ with the compilers' vector extension, for machines without AVX2; lanes.h says what each
// function means. No fused multiply-add: a product is rounded before it is added.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace orrery::kernels {
namespace {

constexpr int kLanes = 4;
typedef float F __attribute__((vector_size(16)));
typedef std::int32_t I __attribute__((vector_size(16)));
typedef std::uint32_t U __attribute__((vector_size(16)));

inline F load(const float* p) {
  F x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline F load(const float* p, int n) {
  F x = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return x;
}
inline void store(float* p, F x) {
  std::memcpy(p, &x, sizeof x);
}
inline void store(float* p, F x, int n) {
  for (int i = 0; i < n; ++i) p[i] = x[i];
}
inline void stream(float* p, F x) {
  store(p, x);
}
inline void streams_done() {}
inline U load(const std::uint32_t* p) {
  U x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline void store(std::uint32_t* p, U x) {
  std::memcpy(p, &x, sizeof x);
}
inline F fma(F a, F b, F c) {
  return a * b + c;
}
inline F square_root(F x) {
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
inline F nearest(F x) {
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_rintf(x[i]);
  return x;
}
// Of what is no 32-bit integer, and of NaN, the most negative one, as the vector instructions have it.
inline I to_int(F x) {
  I n = {};
  for (int i = 0; i < kLanes; ++i) {
    const bool fits = x[i] >= -2147483648.0F && x[i] < 2147483648.0F;
    n[i] = fits ? static_cast<std::int32_t>(__builtin_rintf(x[i])) : INT32_MIN;
  }
  return n;
}
inline F to_float(I x) {
  return __builtin_convertvector(x, F);
}
inline F as_float(I x) {
  return (F)x;
}
inline F as_float(U x) {
  return (F)x;
}
// x 2^n for whole n from -252 to 254, in two factors: one alone may leave the range of exponents.
inline F scaled(F x, F n) {
  const I whole = to_int(n), half = whole >> 1;
  return x * as_float((half + 127) << 23) * as_float((whole - half + 127) << 23);
}
inline U as_bits(F x) {
  return (U)x;
}
template <class Combine>
F folded(F x, Combine combine) {
  x = combine(x, F{x[2], x[3], x[0], x[1]});
  return combine(x, F{x[1], x[0], x[3], x[2]});
}
inline float lane_of(F x) {
  return x[0];
}
inline F larger(F a, F b) {
  for (int i = 0; i < kLanes; ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}
inline F smaller(F a, F b) {
  for (int i = 0; i < kLanes; ++i) a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}
inline F where_bits(std::uint32_t bits, F yes, F no) {
  for (int i = 0; i < kLanes; ++i) no[i] = (bits >> i & 1U) != 0 ? yes[i] : no[i];
  return no;
}
inline std::uint32_t below(U x, std::uint32_t limit) {
  std::uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= (x[i] < limit ? 1U : 0U) << i;
  return bits;
}
inline U multiply_high(U a, std::uint32_t b) {
  for (int i = 0; i < kLanes; ++i) a[i] = static_cast<std::uint32_t>(std::uint64_t{a[i]} * b >> 32);
  return a;
}
inline U load_low(const std::uint16_t* p) {
  return U{p[0], p[1], p[2], p[3]};
}
inline F load_bf16(const std::uint16_t* p) {
  return as_float(load_low(p) << 16);
}
inline F load_bf16(const std::uint16_t* p, int n) {
  U x = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return as_float(x << 16);
}
inline void store_low(std::uint16_t* p, U x, int n) {
  for (int i = 0; i < n; ++i) p[i] = static_cast<std::uint16_t>(x[i]);
}
inline void store_low(std::uint16_t* p, U x) {
  store_low(p, x, kLanes);
}
inline void stream_low(std::uint16_t* p, U x) {
  store_low(p, x);
}
inline I load_int8(const std::int8_t* p) {
  return I{p[0], p[1], p[2], p[3]};
}
inline void store_int8(std::int8_t* p, I x) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(x[i]);
}

// Sums wrap, as those of the instructions do.
inline I dot_int16(I sum, U a, U b) {
  for (int i = 0; i < kLanes; ++i) {
    const int low = static_cast<std::int16_t>(a[i] & 0xffffU) * static_cast<std::int16_t>(b[i] & 0xffffU);
    const int high = static_cast<std::int16_t>(a[i] >> 16) * static_cast<std::int16_t>(b[i] >> 16);
    sum[i] = static_cast<int>(static_cast<std::uint32_t>(sum[i]) + static_cast<std::uint32_t>(low) +
                              static_cast<std::uint32_t>(high));
  }
  return sum;
}

inline void store_sums(float* p, F a, F b, F c, F d, const float* plus) {
  const F* const of[] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) p[i] = ((*of[i])[0] + (*of[i])[2]) + ((*of[i])[1] + (*of[i])[3]) + plus[i];
}

inline int store_places(std::uint64_t bits, std::uint32_t first, std::uint32_t* p) {
  int count = 0;
  for (; bits != 0; bits &= bits - 1) p[count++] = first + static_cast<std::uint32_t>(__builtin_ctzll(bits));
  return count;
}

inline void transpose(U (&rows)[kLanes]) {
  for (int i = 0; i < kLanes; ++i) {
    for (int j = 0; j < i; ++j) {
      const std::uint32_t moved = rows[i][j];
      rows[i][j] = rows[j][i];
      rows[j][i] = moved;
    }
  }
}

}  // namespace
}  // namespace orrery::kernels
