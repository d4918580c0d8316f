// The rate of multiply-adds that nothing holds up: twelve independent chains in registers. The operations that a second
// of this makes is the peak that products are measured against.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_product.h"

namespace orrery::kernels {
namespace {

template <class Units>
double spin_units(Index steps) {
  constexpr int kChains = 12;
  typename Units::Sum sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = (typename Units::Sum)U{};
  U a = all_bits(0x3c003c00U), b = all_bits(0x3c003c00U);
  for (Index step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      keep_unknown(a);  // else the compiler multiplies once for all chains
      sums[i] = Units::step(sums[i], a, b);
    }
  }
  U result = {};
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) result += (U)sums[i];
  keep_unknown(result);
  return 2.0 * Units::kElements * kLanes * kChains * static_cast<double>(steps);
}

inline double spin(Arithmetic arithmetic, Index steps) {
  switch (arithmetic) {
    case Arithmetic::kF32:
    case Arithmetic::kBf16Wide:
      return spin_units<FloatUnits>(steps);
    case Arithmetic::kBf16Dot:
#if defined(__AVX512BF16__)
      return spin_units<Bf16Units>(steps);
#else
      return 0;
#endif
    case Arithmetic::kInt4:
#if defined(ORRERY_NIBBLES)
      return spin_units<NibbleUnits>(steps);
#else
      return 0;
#endif
#if defined(ORRERY_TILES)
    case Arithmetic::kBf16Tiles:
      return spin_tiles<TileBf16Units>(steps);
    case Arithmetic::kF32Tiles:
      return spin_tiles<TileFloatUnits>(steps);
    case Arithmetic::kInt8:
    case Arithmetic::kUint8:
      return spin_tiles<TileInt8Units>(steps);
#else
    case Arithmetic::kBf16Tiles:
    case Arithmetic::kF32Tiles:
      return 0;
    case Arithmetic::kInt8:
    case Arithmetic::kUint8:
#if defined(__AVX512VNNI__)
      return spin_units<Uint8Units>(steps);
#else
      return spin_units<Int16Units>(steps);
#endif
#endif
  }
  return 0;
}

}  // namespace
}  // namespace orrery::kernels
