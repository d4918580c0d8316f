// Sixteen lanes of AVX-512 (F, BW, DQ, VL); lanes.h says what each function means.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace orrery::kernels {
namespace {

constexpr int kLanes = 16;
using F = __m512;
typedef std::int32_t I __attribute__((vector_size(64)));
typedef std::uint32_t U __attribute__((vector_size(64)));

inline __mmask16 first(int n) {
  return static_cast<__mmask16>((1U << n) - 1U);
}

inline F load(const float* p) {
  return _mm512_loadu_ps(p);
}
inline F load(const float* p, int n) {
  return _mm512_maskz_loadu_ps(first(n), p);
}
inline void store(float* p, F x) {
  _mm512_storeu_ps(p, x);
}
inline void store(float* p, F x, int n) {
  _mm512_mask_storeu_ps(p, first(n), x);
}
inline void stream(float* p, F x) {
  _mm512_stream_ps(p, x);
}
inline void stream_low(std::uint16_t* p, U x) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16((__m512i)x));
}
inline void streams_done() {
  _mm_sfence();
}
inline U load(const std::uint32_t* p) {
  return (U)_mm512_loadu_si512(p);
}
inline void store(std::uint32_t* p, U x) {
  _mm512_storeu_si512(p, (__m512i)x);
}
inline F fma(F a, F b, F c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline F square_root(F x) {
  return _mm512_sqrt_ps(x);
}
inline F nearest(F x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline I to_int(F x) {
  return (I)_mm512_cvtps_epi32(x);
}
inline F to_float(I x) {
  return _mm512_cvtepi32_ps((__m512i)x);
}
// x 2^n for whole n; overflow and underflow as the exact product rounds.
inline F scaled(F x, F n) {
  return _mm512_scalef_ps(x, n);
}
// x without its whole part: at least 0, below 1.
inline F above_whole(F x) {
  return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
inline F as_float(I x) {
  return _mm512_castsi512_ps((__m512i)x);
}
inline F as_float(U x) {
  return _mm512_castsi512_ps((__m512i)x);
}
inline U as_bits(F x) {
  return (U)_mm512_castps_si512(x);
}
// combine(x, x with its halves exchanged), then quarters and so on: the result is in every lane.
template <class Combine>
F folded(F x, Combine combine) {
  x = combine(x, _mm512_shuffle_f32x4(x, x, 0x4e));
  x = combine(x, _mm512_shuffle_f32x4(x, x, 0xb1));
  x = combine(x, _mm512_permute_ps(x, 0x4e));
  return combine(x, _mm512_permute_ps(x, 0xb1));
}
inline float lane_of(F x) {
  return _mm512_cvtss_f32(x);
}
inline F larger(F a, F b) {
  return _mm512_max_ps(a, b);
}
inline F smaller(F a, F b) {
  return _mm512_min_ps(a, b);
}
inline F where_bits(std::uint32_t bits, F yes, F no) {
  return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), no, yes);
}
inline std::uint32_t below(U x, std::uint32_t limit) {
  return _mm512_cmplt_epu32_mask((__m512i)x, _mm512_set1_epi32(static_cast<int>(limit)));
}
inline U multiply_high(U a, std::uint32_t b) {
  const __m512i factor = _mm512_set1_epi32(static_cast<int>(b));
  const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32((__m512i)a, factor), 32);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), factor);
  return (U)_mm512_mask_blend_epi32(0xaaaa, even, odd);
}

inline F load_bf16(const std::uint16_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline F load_bf16(const std::uint16_t* p, int n) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first(n), p)), 16));
}
// Sixteen 32-bit numbers that fit into 16 bits.
inline void store_low(std::uint16_t* p, U x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16((__m512i)x));
}
inline void store_low(std::uint16_t* p, U x, int n) {
  _mm256_mask_storeu_epi16(p, first(n), _mm512_cvtepi32_epi16((__m512i)x));
}
inline U load_low(const std::uint16_t* p) {
  return (U)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline I load_int8(const std::int8_t* p) {
  return (I)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void store_int8(std::int8_t* p, I x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8((__m512i)x));
}

// Adds the products of two pairs of 16-bit integers to each lane.
inline I dot_int16(I sum, U a, U b) {
  return (I)((U)sum + (U)_mm512_madd_epi16((__m512i)a, (__m512i)b));  // wraps, as the instruction does
}

// The sums of four vectors, each in pairs of lanes, then halves, and four floats to be added.
inline void store_sums(float* p, F a, F b, F c, F d, const float* plus) {
  const F ab = _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b),
          cd = _mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d);
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const F sums = _mm512_castpd_ps(low) + _mm512_castpd_ps(high);  // of each quarter of the lanes
  const __m256 halves = _mm512_castps512_ps256(sums) + _mm512_extractf32x8_ps(sums, 1);
  _mm_storeu_ps(p, _mm256_castps256_ps128(halves) + _mm256_extractf128_ps(halves, 1) + _mm_loadu_ps(plus));
}

// The places of the bits that are set, each increased by `first`, rising; how many. Up to 64 places are written.
inline int store_places(std::uint64_t bits, std::uint32_t first, std::uint32_t* p) {
  const __m512i ramp = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  int count = 0;
  for (int i = 0; i < 64; i += 16) {
    const auto part = static_cast<__mmask16>(bits >> i);
    const __m512i places = _mm512_add_epi32(ramp, _mm512_set1_epi32(static_cast<int>(first) + i));
    _mm512_storeu_si512(p + count, _mm512_maskz_compress_epi32(part, places));
    count += __builtin_popcount(part);
  }
  return count;
}

// Turns kLanes rows of kLanes units into its transpose.
inline void transpose(U (&rows)[kLanes]) {
  __m512i t[16], s[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32((__m512i)rows[i], (__m512i)rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32((__m512i)rows[i], (__m512i)rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      s[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
      s[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(s[i], s[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(s[i], s[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(s[i + 8], s[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(s[i + 8], s[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    rows[i] = (U)_mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = (U)_mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

}  // namespace
}  // namespace orrery::kernels
