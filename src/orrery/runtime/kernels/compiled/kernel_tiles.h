// Tiles: eight registers of 16 rows of 64 bytes, and products of them (Intel AMX). Two implementations of one
// interface: the instructions, and plain C++ that computes what the manual says they do, so that blocking and packing
// around them are tested on machines without them.
//
//   sum += A B,  A: 16 rows of 16 units of depth,  B: 16 units of depth by 16 columns,  sum: 16 x 16
//
// A unit has 32 bits: two bf16 or four bytes that follow one another in depth. Of bf16, even and odd elements are
// summed apart, by fused multiply-adds, then added to each other and to the sum; every result is rounded to nearest,
// and subnormal numbers, read or made, are zeros. Sums of bytes wrap round.
//
// The instructions stand in inline assembly that tells of the memory it touches: g++ 12's intrinsics do not, and stores
// before _tile_loadconfig were lost.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG, TDPBF16PS, TDPBSSD,
// TDPBUSD. Cost: 16 cycles a product, 32768 operations of bf16 or 65536 of bytes.
#pragma once

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {
namespace {

constexpr int kTileUnits = 16;  // rows of a tile, units of a row

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
// One object a block: it configures the tiles, and gives them up.
class Tiles {
 public:
  Tiles() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    static_assert(sizeof config == 64);
    __asm__ volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  ~Tiles() { __asm__ volatile("tilerelease" : : : "memory"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int kTile>
  void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows `stride` units apart.
  template <int kTile>
  void load(const std::uint32_t* p, Index stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride * 4), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(std::uint32_t* p, Index stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride * 4), "i"(kTile) : "memory");
  }
  template <int kSum, int kA, int kB>
  void dot_bf16() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
  template <int kSum, int kA, int kB>
  void dot_int8() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
  template <int kSum, int kA, int kB>
  void dot_uint8() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

#else
class Tiles {
 public:
  template <int kTile>
  void zero() {
    __builtin_memset(tile_[kTile], 0, sizeof tile_[kTile]);
  }
  template <int kTile>
  void load(const std::uint32_t* p, Index stride) {
    for (int row = 0; row < kTileUnits; ++row) __builtin_memcpy(tile_[kTile][row], p + row * stride, 64);
  }
  template <int kTile>
  void store(std::uint32_t* p, Index stride) const {
    for (int row = 0; row < kTileUnits; ++row) __builtin_memcpy(p + row * stride, tile_[kTile][row], 64);
  }
  template <int kSum, int kA, int kB>
  void dot_bf16() {
    for (int row = 0; row < kTileUnits; ++row) {
      float even[kTileUnits] = {}, odd[kTileUnits] = {};
      for (int unit = 0; unit < kTileUnits; ++unit) {
        const std::uint32_t a = tile_[kA][row][unit];
        for (int column = 0; column < kTileUnits; ++column) {
          const std::uint32_t b = tile_[kB][unit][column];
          even[column] = fused(a << 16, b << 16, even[column]);
          odd[column] = fused(a & kHigh, b & kHigh, odd[column]);
        }
      }
      for (int column = 0; column < kTileUnits; ++column) {
        std::uint32_t& sum = tile_[kSum][row][column];
        sum = bits_of(flushed(flushed(number(sum)) + flushed(even[column] + odd[column])));
      }
    }
  }
  template <int kSum, int kA, int kB>
  void dot_int8() {
    dot_bytes<kSum, kA, kB, std::int8_t>();
  }
  template <int kSum, int kA, int kB>
  void dot_uint8() {
    dot_bytes<kSum, kA, kB, std::uint8_t>();
  }

 private:
  static constexpr std::uint32_t kHigh = 0xffff0000U;
  static float number(std::uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
  }
  static std::uint32_t bits_of(float x) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  static float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126F ? x * 0.0F : x; }
  // a b + c, rounded once: a product of bf16 has 16 bits, so in double the sum is exact, or its rounding so small that
  // it cannot make a tie of a float.
  static float fused(std::uint32_t a, std::uint32_t b, float c) {
    const double product = static_cast<double>(flushed(number(a))) * static_cast<double>(flushed(number(b)));
    return flushed(static_cast<float>(product + static_cast<double>(c)));
  }
  template <int kSum, int kA, int kB, class Left>
  void dot_bytes() {
    for (int row = 0; row < kTileUnits; ++row) {
      for (int unit = 0; unit < kTileUnits; ++unit) {
        for (int column = 0; column < kTileUnits; ++column) {
          for (int byte = 0; byte < 4; ++byte) {
            const auto a = static_cast<Left>(tile_[kA][row][unit] >> 8 * byte);
            const auto b = static_cast<std::int8_t>(tile_[kB][unit][column] >> 8 * byte);
            tile_[kSum][row][column] += static_cast<std::uint32_t>(a * b);
          }
        }
      }
    }
  }

  std::uint32_t tile_[8][kTileUnits][kTileUnits] = {};
};
#endif

}  // namespace
}  // namespace orrery::kernels
