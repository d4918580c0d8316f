// Matrix products by tiles (kernel_tiles.h), on operands that are packed as kernel_product.h packs them: 16 units of
// depth of 16 rows of a packed A are a tile as they lie, and so are half the columns of a panel of B.
//
// Four tiles of sums, two by two, meet two tiles of A and two of B: four loads for four products. A panel of B passes
// through the first-level cache kChunk units at a time while the rows of A pass by; sums are kept in memory between
// chunks, which is a store and a load for each 16 products or more.
//
// fp32 by bf16: x = x1 + x2 + x3, each a bf16 of what the ones before left, is exact for numbers of 24 bits, and
//   x y = x1 y1 + (x1 y2 + x2 y1) + (x1 y3 + x2 y2 + x3 y1) + less than 2^-23 |x y|,
// six products where bf16 takes one; small ones are added first. A step of 32 elements of depth is packed as 16 units
// of each plane. It needs numbers whose planes are normal: product.cc asks (`range`) and else takes fused
// multiply-adds.
//
// Source: G. Henry, P. Tang, A. Heinecke, "Leveraging the bfloat16 AI datatype for higher-precision computations"
// (2019).
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_pack.h"
#include "orrery/runtime/kernels/compiled/kernel_tiles.h"

namespace orrery::kernels {
namespace {

struct TileUnitsBase {
  static constexpr int kHeader = 0, kColumns = 2 * kTileUnits, kStep = kTileUnits, kPlanes = 1;
};

// R x V tiles of sums: those of tile (r, v) are register 2 r + v, A's 4 and 5, B's 6 and 7.
template <int R, int V, class Dot>
void each_sum(Dot dot) {
  dot.template operator()<0, 4, 6>();
  if constexpr (V > 1) dot.template operator()<1, 4, 7>();
  if constexpr (R > 1) dot.template operator()<2, 5, 6>();
  if constexpr (R > 1 && V > 1) dot.template operator()<3, 5, 7>();
}
template <int R>
void load_a(Tiles& tiles, const std::uint32_t* a) {
  tiles.load<4>(a, kRowUnits);
  if constexpr (R > 1) tiles.load<5>(a + kTileUnits * kRowUnits, kRowUnits);
}
template <int V>
void load_b(Tiles& tiles, const std::uint32_t* b) {
  tiles.load<6>(b, TileUnitsBase::kColumns);
  if constexpr (V > 1) tiles.load<7>(b + kTileUnits, TileUnitsBase::kColumns);
}

struct TileBf16Units : TileUnitsBase {
  static constexpr int kElements = 2;
  static constexpr int kProducts = 1;  // for one product of the operands
  template <int kSum, int kA, int kB>
  static void dot(Tiles& tiles) {
    tiles.dot_bf16<kSum, kA, kB>();
  }
};

struct TileFloatUnits : TileBf16Units {
  static constexpr int kPlanes = 3, kProducts = 6;
};

struct TileInt8Units : TileUnitsBase {
  static constexpr int kElements = 4, kProducts = 1;
  template <int kSum, int kA, int kB>
  static void dot(Tiles& tiles) {
    tiles.dot_int8<kSum, kA, kB>();
  }
};

struct TileUint8Units : TileUnitsBase {
  static constexpr int kElements = 4, kProducts = 1;
  template <int kSum, int kA, int kB>
  static void dot(Tiles& tiles) {
    tiles.dot_uint8<kSum, kA, kB>();
  }
};

template <class Units, int R, int V>
void tile_sums(Tiles& tiles, const std::uint32_t* a, const std::uint32_t* b, Index units, std::uint32_t* c,
               Index c_stride, bool add) {
  constexpr int kPlane = kTileUnits, kPlaneB = kTileUnits * Units::kColumns;
  const auto place = [&](int r, int v) { return c + r * kTileUnits * c_stride + v * kTileUnits; };
  each_sum<R, V>(
      [&]<int kSum, int, int>() { add ? tiles.load<kSum>(place(kSum / 2, kSum % 2), c_stride) : tiles.zero<kSum>(); });
  const auto dots = [&] {
    each_sum<R, V>([&]<int kSum, int kA, int kB>() { Units::template dot<kSum, kA, kB>(tiles); });
  };
  for (Index u = 0; u < units; u += kTileUnits * Units::kPlanes) {
    if constexpr (Units::kPlanes == 1) {
      load_a<R>(tiles, a);
      load_b<V>(tiles, b);
      dots();
    } else {
      // x3 y1, x2 y1, x2 y2, x1 y2, x1 y3, x1 y1: one operand is loaded anew for each.
      load_a<R>(tiles, a + 2 * kPlane), load_b<V>(tiles, b), dots();
      load_a<R>(tiles, a + kPlane), dots();
      load_b<V>(tiles, b + kPlaneB), dots();
      load_a<R>(tiles, a), dots();
      load_b<V>(tiles, b + 2 * kPlaneB), dots();
      load_b<V>(tiles, b), dots();
    }
    a += kTileUnits * Units::kPlanes;
    b += kTileUnits * Units::kPlanes * Units::kColumns;
  }
  each_sum<R, V>([&]<int kSum, int, int>() { tiles.store<kSum>(place(kSum / 2, kSum % 2), c_stride); });
}

// Rows of A and of c are there up to a multiple of kTileUnits, and units up to whole steps: packing pads them.
template <class Units>
void tile_block(const Block& x) {
  constexpr Index kUnits = kTileUnits * Units::kPlanes, kChunk = 256 / kUnits * kUnits;
  Tiles tiles;
  for (Index u = 0; u < x.units || u == 0; u += kChunk) {
    const Index units = x.units - u < kChunk ? x.units - u : kChunk;
    const bool add = x.add || u > 0;
    for (Index column = 0; column < x.columns; column += Units::kColumns) {
      const std::uint32_t* b = x.b + (column / Units::kColumns * x.units + u) * Units::kColumns;
      const bool narrow = x.columns - column <= kTileUnits;
      for (Index row = 0; row < x.rows; row += 2 * kTileUnits) {
        const bool low = x.rows - row <= kTileUnits;
        const auto kernel = low      ? narrow ? tile_sums<Units, 1, 1> : tile_sums<Units, 1, 2>
                                 : narrow ? tile_sums<Units, 2, 1>
                                     : tile_sums<Units, 2, 2>;
        kernel(tiles, x.a + row * kRowUnits + u, b, units, static_cast<std::uint32_t*>(x.c) + row * x.c_stride + column,
               x.c_stride, add);
      }
    }
  }
}

// Plane kPlane of floats, two of them a unit.
template <int kWhich>
struct PlaneFromFloat {
  using Element = float;
  using Units = TileFloatUnits;
  static constexpr int kPlane = kWhich;
  static U part(F x) {
    for (int plane = 0; plane < kPlane; ++plane) x = x - as_float(bf16_bits(x) << 16);
    return bf16_bits(x);
  }
  static std::uint32_t part(float x) {
    for (int plane = 0; plane < kPlane; ++plane) {
      const std::uint32_t bits = rounded_bits(x) << 16;
      float upper;
      __builtin_memcpy(&upper, &bits, sizeof upper);
      x -= upper;
    }
    return rounded_bits(x);
  }
  static std::uint32_t unit(const float* p, Index stride, Index valid) {
    return valid > 1 ? part(p[0]) | part(p[stride]) << 16 : part(p[0]);
  }
  static U along(const float* p) { return pairs(part(load(p)), part(load(p + kLanes))); }
  static U across(const float* p, Index stride) { return part(load(p)) | part(load(p + stride)) << 16; }
};

// bf16 as fp32 that is one plane: the others are zeros.
template <int kWhich>
struct PlaneFromBf16 {
  using Element = std::uint16_t;
  using Units = TileFloatUnits;
  static constexpr int kPlane = kWhich;
  static std::uint32_t unit(const std::uint16_t* p, Index stride, Index valid) {
    return kPlane > 0 ? 0 : PairsFromBf16<Units>::unit(p, stride, valid);
  }
  static U along(const std::uint16_t* p) { return kPlane > 0 ? U{} : PairsFromBf16<Units>::along(p); }
  static U across(const std::uint16_t* p, Index stride) {
    return kPlane > 0 ? U{} : PairsFromBf16<Units>::across(p, stride);
  }
};

template <template <int> class Source>
struct Planes {
  using Units = TileFloatUnits;
  static void pack_a(const Panels& x, std::uint32_t* out, Index row_units) {
    pack_a_from<Source<0>>(x, out, row_units);
    pack_a_from<Source<1>>(x, out, row_units);
    pack_a_from<Source<2>>(x, out, row_units);
  }
  static void pack_b(const Panels& x, std::uint32_t* out) {
    pack_b_from<Source<0>>(x, out);
    pack_b_from<Source<1>>(x, out);
    pack_b_from<Source<2>>(x, out);
  }
};

inline void pack_a_planes(const Panels& x, std::uint32_t* out, Index row_units) {
  x.type == Type::kF32 ? Planes<PlaneFromFloat>::pack_a(x, out, row_units)
                       : Planes<PlaneFromBf16>::pack_a(x, out, row_units);
}
inline void pack_b_planes(const Panels& x, std::uint32_t* out) {
  x.type == Type::kF32 ? Planes<PlaneFromFloat>::pack_b(x, out) : Planes<PlaneFromBf16>::pack_b(x, out);
}

// Operations of products that nothing holds up.
template <class Units>
double spin_tiles(Index steps) {
  Tiles tiles;
  tiles.zero<4>(), tiles.zero<5>(), tiles.zero<6>(), tiles.zero<7>();
  each_sum<2, 2>([&]<int kSum, int, int>() { tiles.zero<kSum>(); });
  for (Index step = 0; step < steps; step += 4) {
    each_sum<2, 2>([&]<int kSum, int kA, int kB>() { Units::template dot<kSum, kA, kB>(tiles); });
  }
  constexpr double kOperations = 2.0 * Units::kElements * kTileUnits * kTileUnits * kTileUnits / Units::kProducts;
  return kOperations * 4 * static_cast<double>((steps + 3) / 4);
}

template <class Units>
constexpr ProductKernels tile_kernels(void (*pack_a)(const Panels&, std::uint32_t*, Index),
                                      void (*pack_b)(const Panels&, std::uint32_t*)) {
  ProductKernels kernels;
  kernels.elements = Units::kElements * kTileUnits;
  kernels.units = Units::kPlanes * kTileUnits;
  kernels.tile_rows = 2 * kTileUnits;
  kernels.row_step = kTileUnits;
  kernels.tile_columns = Units::kColumns;
  kernels.pack_a = pack_a;
  kernels.pack_b = pack_b;
  kernels.block = tile_block<Units>;
  kernels.spin = spin_tiles<Units>;
  return kernels;
}

consteval Products tile_products() {
  using Units = TileBf16Units;
  Products products;
  const auto of = [&](Arithmetic arithmetic) -> ProductKernels& { return products.of[static_cast<int>(arithmetic)]; };
  of(Arithmetic::kF32Tiles) = tile_kernels<TileFloatUnits>(pack_a_planes, pack_b_planes);
  of(Arithmetic::kBf16Tiles) = tile_kernels<Units>(pack_a_float<PairsFromFloat<Units>, PairsFromBf16<Units>>,
                                                   pack_b_float<PairsFromFloat<Units>, PairsFromBf16<Units>>);
  of(Arithmetic::kInt8) =
      tile_kernels<TileInt8Units>(pack_a_from<Quads<TileInt8Units>>, pack_b_from<Quads<TileInt8Units>>);
  of(Arithmetic::kUint8) =
      tile_kernels<TileUint8Units>(pack_a_from<Quads<TileUint8Units>>, pack_b_from<Quads<TileUint8Units>>);
  return products;
}

}  // namespace
}  // namespace orrery::kernels
