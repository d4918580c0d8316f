// Elements of matrices as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace orrery::kernels {

enum class Type : std::uint8_t { kF32, kBf16, kInt8, kUint8, kInt32 };

inline constexpr int bytes_of(Type type) {
  return type == Type::kInt8 || type == Type::kUint8 ? 1 : type == Type::kBf16 ? 2 : 4;
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

}  // namespace orrery::kernels
