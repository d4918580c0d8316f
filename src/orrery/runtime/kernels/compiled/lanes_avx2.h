// Eight lanes of AVX2 with FMA; lanes.h says what each function means.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace orrery::kernels {
namespace {

constexpr int kLanes = 8;
using F = __m256;
typedef std::int32_t I __attribute__((vector_size(32)));
typedef std::uint32_t U __attribute__((vector_size(32)));

inline __m256i first(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline F load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline F load(const float* p, int n) {
  return _mm256_maskload_ps(p, first(n));
}
inline void store(float* p, F x) {
  _mm256_storeu_ps(p, x);
}
inline void store(float* p, F x, int n) {
  _mm256_maskstore_ps(p, first(n), x);
}
inline void stream(float* p, F x) {
  _mm256_stream_ps(p, x);
}
inline void streams_done() {
  _mm_sfence();
}
inline U load(const std::uint32_t* p) {
  return (U)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store(std::uint32_t* p, U x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)x);
}
inline F fma(F a, F b, F c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline F square_root(F x) {
  return _mm256_sqrt_ps(x);
}
inline F nearest(F x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline I to_int(F x) {
  return (I)_mm256_cvtps_epi32(x);
}
inline F to_float(I x) {
  return _mm256_cvtepi32_ps((__m256i)x);
}
inline F as_float(I x) {
  return _mm256_castsi256_ps((__m256i)x);
}
inline F as_float(U x) {
  return _mm256_castsi256_ps((__m256i)x);
}
// x 2^n for whole n from -252 to 254, in two factors: one alone may leave the range of exponents.
inline F scaled(F x, F n) {
  const I whole = to_int(n), half = whole >> 1;
  return x * as_float((half + 127) << 23) * as_float((whole - half + 127) << 23);
}
inline U as_bits(F x) {
  return (U)_mm256_castps_si256(x);
}
template <class Combine>
F folded(F x, Combine combine) {
  x = combine(x, _mm256_permute2f128_ps(x, x, 1));
  x = combine(x, _mm256_permute_ps(x, 0x4e));
  return combine(x, _mm256_permute_ps(x, 0xb1));
}
inline float lane_of(F x) {
  return _mm256_cvtss_f32(x);
}
inline F larger(F a, F b) {
  return _mm256_max_ps(a, b);
}
inline F smaller(F a, F b) {
  return _mm256_min_ps(a, b);
}
inline F where_bits(std::uint32_t bits, F yes, F no) {
  const __m256i one = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), one), one);
  return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(set));
}
inline std::uint32_t below(U x, std::uint32_t limit) {
  // Comparisons are of signed numbers: both are moved by 2^31.
  const U moved = x ^ 0x80000000U;
  const __m256i less = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(limit ^ 0x80000000U)), (__m256i)moved);
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(less)));
}
inline U multiply_high(U a, std::uint32_t b) {
  const __m256i factor = _mm256_set1_epi32(static_cast<int>(b));
  const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32((__m256i)a, factor), 32);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), factor);
  return (U)_mm256_blend_epi32(even, odd, 0xaa);
}

inline U load_low(const std::uint16_t* p) {
  return (U)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline F load_bf16(const std::uint16_t* p) {
  return as_float(load_low(p) << 16);
}
inline F load_bf16(const std::uint16_t* p, int n) {
  std::uint16_t padded[kLanes] = {};
  for (int i = 0; i < n; ++i) padded[i] = p[i];
  return load_bf16(padded);
}
inline void store_low(std::uint16_t* p, U x) {
  const __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)x, (__m256i)x), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(pairs));
}
inline void stream_low(std::uint16_t* p, U x) {
  const __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)x, (__m256i)x), 0x08);
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(pairs));
}
inline void store_low(std::uint16_t* p, U x, int n) {
  std::uint16_t all[kLanes];
  store_low(all, x);
  for (int i = 0; i < n; ++i) p[i] = all[i];
}
inline I load_int8(const std::int8_t* p) {
  return (I)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
inline void store_int8(std::int8_t* p, I x) {
  const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(halves, halves));
}

// Adds the products of two pairs of 16-bit integers to each lane.
inline I dot_int16(I sum, U a, U b) {
  return (I)((U)sum + (U)_mm256_madd_epi16((__m256i)a, (__m256i)b));  // wraps, as the instruction does
}

inline void store_sums(float* p, F a, F b, F c, F d, const float* plus) {
  const F ab = _mm256_unpacklo_ps(a, b) + _mm256_unpackhi_ps(a, b),
          cd = _mm256_unpacklo_ps(c, d) + _mm256_unpackhi_ps(c, d);
  const __m256d low = _mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd));
  const __m256d high = _mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd));
  const F sums = _mm256_castpd_ps(low) + _mm256_castpd_ps(high);
  _mm_storeu_ps(p, _mm256_castps256_ps128(sums) + _mm256_extractf128_ps(sums, 1) + _mm_loadu_ps(plus));
}

inline int store_places(std::uint64_t bits, std::uint32_t first, std::uint32_t* p) {
  int count = 0;
  for (; bits != 0; bits &= bits - 1) p[count++] = first + static_cast<std::uint32_t>(__builtin_ctzll(bits));
  return count;
}

inline void transpose(U (&rows)[kLanes]) {
  __m256i t[8], s[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_epi32((__m256i)rows[i], (__m256i)rows[i + 1]);
    t[i + 1] = _mm256_unpackhi_epi32((__m256i)rows[i], (__m256i)rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      s[i + 2 * j] = _mm256_unpacklo_epi64(t[i + j], t[i + j + 2]);
      s[i + 2 * j + 1] = _mm256_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = (U)_mm256_permute2x128_si256(s[i], s[i + 4], 0x20);
    rows[i + 4] = (U)_mm256_permute2x128_si256(s[i], s[i + 4], 0x31);
  }
}

}  // namespace
}  // namespace orrery::kernels
