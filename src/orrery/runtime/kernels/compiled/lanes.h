// What every kernel is written in: vectors of kLanes floats (F), signed (I) and unsigned (U) 32-bit integers.
//
// A kernel is written once, in kernel_*.h, in terms of the functions of lanes_<isa>.h; each isa_<isa>.cc defines the
// lanes, includes the kernels and is compiled with the flags of its instruction set. All of it stands in an unnamed
// namespace: were an inline function shared by two of these files, the linker would keep one of the copies, perhaps the
// one with instructions that the machine lacks (tests/kernel_symbols.sh holds this). For the same reason kernels call
// nothing of the standard library that is not a compiler's builtin.
//
// In lanes_<isa>.h:
//   load(p), store(p, x)        kLanes elements, no alignment needed; with n, the first n only: no other byte is
//   touched,
//                               lanes beyond are zero
//   stream, stream_low          past the caches; p aligned to the vector; streams_done() before others may read it
//   fma(a, b, c)                a b + c
//   larger, smaller             of two; when one is NaN, the second argument, as x86 has it
//   folded(x, f), lane_of(x)    all lanes combined by f, in pairs of halves; the first lane
//   nearest, to_int             rounded to the nearest, ties to even
//   scaled(x, n)                x 2^n for a whole n from -252 to 254
//   where_bits(bits, yes, no)   lane i is yes where bit i is set
//   below(x, limit)             bit i is set where x < limit
//   multiply_high(a, b)         the upper half of the 64-bit product
//   load_bf16, store_low        bf16 as 16-bit halves
//   store_int8                  integers that fit into a byte
//   dot_int16(sum, a, b)        each lane of a and b holds two 16-bit integers
//   store_sums(p, a, b, c, d, q) the sum of each vector's lanes, four floats; those at q added
//   store_places(bits, n, p)    n + the number of each bit that is set, rising; returns how many; may write 64
//   transpose(rows)             of kLanes x kLanes units of 32 bits
// Operators + - * / < > ?: of vectors are the compilers' own.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "orrery/runtime/kernels/compiled/lanes_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "orrery/runtime/kernels/compiled/lanes_avx2.h"
#else
#include "orrery/runtime/kernels/compiled/lanes_portable.h"
#endif

namespace orrery::kernels {
namespace {

inline F all(float x) {
  return x - F{};
}
inline U all_bits(std::uint32_t x) {
  return U{} + x;
}
// After this the compiler no longer knows what x is.
inline void keep_unknown(U& x) {
#if defined(__x86_64__)
  __asm__ volatile("" : "+x"(x));
#else
  __asm__ volatile("" : "+m"(x));
#endif
}
inline F magnitude(F x) {
  return as_float(as_bits(x) & 0x7fffffffU);
}

// A maximum that a NaN wins.
inline F largest(F a, F b) {
  return a == a ? larger(a, b) : a;
}

// Sums and maxima over lanes, always in the same order: halves are folded onto each other.
inline float sum_of(F x) {
  return lane_of(folded(x, [](F a, F b) { return a + b; }));
}
inline float maximum_of(F x) {
  return lane_of(folded(x, largest));
}

// bf16 is the upper half of a float: rounded to nearest even; a NaN keeps its sign and stays one.
inline U bf16_bits(F x) {
  const U bits = as_bits(x);
  const U rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  return x == x ? rounded : (bits >> 16 | 0x40U);
}
inline void store_bf16(std::uint16_t* p, F x) {
  store_low(p, bf16_bits(x));
}
inline void store_bf16(std::uint16_t* p, F x, int n) {
  store_low(p, bf16_bits(x), n);
}

inline void stream_bf16(std::uint16_t* p, F x) {
  stream_low(p, bf16_bits(x));
}

// The same by type of element, so that a kernel can be written for both.
inline F load_as_float(const float* p) {
  return load(p);
}
inline F load_as_float(const float* p, int n) {
  return load(p, n);
}
inline F load_as_float(const std::uint16_t* p) {
  return load_bf16(p);
}
inline F load_as_float(const std::uint16_t* p, int n) {
  return load_bf16(p, n);
}
inline void store_from_float(float* p, F x) {
  store(p, x);
}
inline void stream_from_float(float* p, F x) {
  stream(p, x);
}
inline void stream_from_float(std::uint16_t* p, F x) {
  stream_bf16(p, x);
}
inline void store_from_float(float* p, F x, int n) {
  store(p, x, n);
}
inline void store_from_float(std::uint16_t* p, F x) {
  store_bf16(p, x);
}
inline void store_from_float(std::uint16_t* p, F x, int n) {
  store_bf16(p, x, n);
}

}  // namespace
}  // namespace orrery::kernels
