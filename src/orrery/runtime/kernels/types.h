// Elements of matrices as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace orrery::kernels {

// kF16 (IEEE half) and kF64 are of plain loops only (plain.h).
enum class Type : std::uint8_t { kF32, kBf16, kInt8, kUint8, kInt32, kF16, kF64 };

inline constexpr int bytes_of(Type type) {
  switch (type) {
    case Type::kInt8:
    case Type::kUint8:
      return 1;
    case Type::kBf16:
    case Type::kF16:
      return 2;
    case Type::kF64:
      return 8;
    default:
      return 4;
  }
}

// A bf16 is the upper half of a float, held in 16 bits.
using Bf16 = std::uint16_t;

inline float from_bf16(Bf16 x) {
  const std::uint32_t bits = std::uint32_t{x} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounded to nearest, ties to even; a NaN stays one.
inline Bf16 to_bf16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (x != x) return static_cast<Bf16>(bits >> 16 | 0x40U);
  return static_cast<Bf16>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

// An IEEE half, held in 16 bits.
struct Half {
  std::uint16_t bits;
};

inline float from_half(Half x) {
  const std::uint32_t sign = std::uint32_t{x.bits} >> 15 << 31, rest = x.bits & 0x7fffU;
  std::uint32_t bits;
  if (rest >= 0x7c00U) {
    bits = 0x7f800000U | (rest & 0x3ffU) << 13;  // infinities and NaN
  } else if (rest >= 0x400U) {
    bits = (rest << 13) + (112U << 23);
  } else {  // zero and subnormal: a whole multiple of 2^-24
    const float tiny = static_cast<float>(rest) * 0x1p-24F;
    std::memcpy(&bits, &tiny, sizeof bits);
  }
  bits |= sign;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounded to nearest, ties to even; beyond 65504 infinite; a NaN stays one.
inline Half to_half(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const std::uint32_t sign = bits >> 16 & 0x8000U, rest = bits & 0x7fffffffU;
  if (x != x) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  if (rest >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  if (rest < 0x38800000U) {  // subnormal: adding 1/2 leaves multiples of 2^-24 in the lowest bits
    float magnitude;
    std::memcpy(&magnitude, &rest, sizeof magnitude);
    magnitude += 0.5F;
    std::memcpy(&bits, &magnitude, sizeof bits);
    return {static_cast<std::uint16_t>(sign | (bits - 0x3f000000U))};
  }
  return {static_cast<std::uint16_t>(sign | ((rest + 0xfffU + (rest >> 13 & 1U) - (112U << 23)) >> 13))};
}

}  // namespace orrery::kernels
