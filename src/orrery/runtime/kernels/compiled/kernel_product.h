// Matrix products: packing, and the inner loop.
//
// Idea. C = A B is computed in tiles of a few rows by two vectors of columns that stay in registers while the depth
// runs. Each step loads two vectors of B, broadcasts one unit of each row of A and multiplies: with R rows 2 R products
// for 2 + R loads, so arithmetic is the bound. B is packed so that a step's vectors lie behind one another; A keeps its
// rows, at a constant distance (kRowUnits, or kNarrowUnits), so that the code addresses R rows from one register. A
// row-major A is packed by copying, any other by transposing small squares.
//
// A unit has 32 bits and holds as many elements as the instruction sums at once, so one loop serves fp32 (1 element),
// int8 through int16 (2), bf16 by vdpbf16ps (2; isa_avx512_bf16.cc) and int8 by vpdpbusd (4; isa_avx512_vnni.cc).
//
// Sources: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008); BLIS.
// Cost: 2 M N K operations; packing moves each element of A and B once a block.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_pack.h"

namespace orrery::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 14;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileColumns = 2 * kLanes;

struct LaneUnits {
  static constexpr int kHeader = 0, kColumns = kTileColumns, kStep = 1, kPlanes = 1;
};

struct FloatUnits : LaneUnits {
  using Sum = F;
  static constexpr int kElements = 1;
  static F step(F sum, U a, U b) { return fma(as_float(a), as_float(b), sum); }
};

struct Int16Units : LaneUnits {
  using Sum = I;
  static constexpr int kElements = 2;
  static I step(I sum, U a, U b) { return dot_int16(sum, a, b); }
};

#if defined(__AVX2__)
// Numbers from -8 to 7 by vpmaddubsw, which adds two products of a byte without sign and one with to 16 bits: twice as
// many as the way through int16. The left operand is packed as a + 8; sums stay in 16 bits, two a unit, and begin with
// -8 times those of the columns: up to (32 + 60) depth, so that a depth of 256 is far from their end.
struct NibbleUnits : LaneUnits {
  using Sum = I;
  static constexpr int kElements = 4, kHeader = 1;
  static constexpr bool kNarrowOnly = true;  // kInt4Depth is far below kNarrowDepth
#if defined(__AVX512F__)
  static I step(I sum, U a, U b) {
    return (I)_mm512_add_epi16((__m512i)sum, _mm512_maddubs_epi16((__m512i)a, (__m512i)b));
  }
  static U negative(I sums) {
    return (U)_mm512_sub_epi16(_mm512_setzero_si512(), (__m512i)sums);
  }
#else
  static I step(I sum, U a, U b) {
    return (I)_mm256_add_epi16((__m256i)sum, _mm256_maddubs_epi16((__m256i)a, (__m256i)b));
  }
  static U negative(I sums) {
    return (U)_mm256_sub_epi16(_mm256_setzero_si256(), (__m256i)sums);
  }
#endif
  static U header(const std::uint32_t* units, Index count, Index stride) {
    I sums = {};
    for (Index u = 0; u < count; ++u) sums = step(sums, all_bits(0x08080808U), load(units + u * stride));
    return negative(sums);
  }
  static I finish(I sums) {
    return dot_int16(I{}, (U)sums, all_bits(0x00010001U));
  }
};
#endif

constexpr Index kAhead = 12;       // steps: what the second-level cache takes to answer, and more
constexpr Index kStepsOfLine = 4;  // in which one cache line is fetched for later
constexpr Index kLine = 16;        // units

// R rows, V vectors of columns. While the last steps are computed, the first ones of B at `next` are fetched; and all
// the while a line in four steps from `later`, which other tiles will need, into the second-level cache: otherwise the
// first tile of a chunk would run at the speed of memory.
template <class Units, int kRow, int R, int V>
void tile(const std::uint32_t* a, const std::uint32_t* b, Index units, std::uint32_t* c, Index c_stride, bool add,
          const std::uint32_t* next, const std::uint32_t* later) {
  typename Units::Sum sums[R][V];
  U head[V];
  for (int v = 0; v < V; ++v) head[v] = Units::kHeader != 0 ? load(b + v * kLanes) : U{};
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sums[r][v] = (typename Units::Sum)head[v];
  }
  b += Units::kHeader * kTileColumns;
  const auto step = [&](const std::uint32_t* ahead) __attribute__((always_inline)) {
    U columns[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      columns[v] = load(b + v * kLanes);
      __builtin_prefetch(ahead + v * kLanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const U row = all_bits(a[r * kRow]);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sums[r][v] = Units::step(sums[r][v], row, columns[v]);
    }
    b += kTileColumns;
    ++a;
  };
  Index u = 0;
  for (; u + kStepsOfLine <= units - kAhead; u += kStepsOfLine) {
    __builtin_prefetch(later, 0, 2);
    later += kLine;
#pragma GCC unroll 4
    for (int i = 0; i < kStepsOfLine; ++i) step(b + kAhead * kTileColumns);
  }
  for (; u < units - kAhead; ++u) step(b + kAhead * kTileColumns);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {  // not before: B would have displaced them by now
    __builtin_prefetch(c + r * c_stride, 1);
    __builtin_prefetch(c + r * c_stride + kLanes, 1);
  }
  for (; u < units; ++u) {
    step(next);
    next += kTileColumns;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      std::uint32_t* place = c + r * c_stride + v * kLanes;
      if constexpr (requires { Units::finish(sums[r][v]); }) sums[r][v] = Units::finish(sums[r][v]);
      if (add) sums[r][v] += (typename Units::Sum)load(place);
      store(place, (U)sums[r][v]);
    }
  }
}

using Tile = void (*)(const std::uint32_t*, const std::uint32_t*, Index, std::uint32_t*, Index, bool,
                      const std::uint32_t*, const std::uint32_t*);

// The tile of r rows and v vectors; of the largest there are R.
template <class Units, int kRow, int R>
Tile tile_of(int r, int v) {
  if constexpr (R > 1) {
    if (r < R) return tile_of<Units, kRow, R - 1>(r, v);
  }
  return v == 1 ? tile<Units, kRow, R, 1> : tile<Units, kRow, R, 2>;
}

// Rows are cut into tiles of almost equal height: a last tile of a row or two would be slow. The depth is cut into
// chunks: rows of a tile stay in the first-level cache while the panels of B pass by, fetched from the second in time,
// and the error of sums is that of short chains (docs/model/kernels.md). Sums wait in c.
template <class Units, int kRow>
void block(const Block& x) {
  constexpr Index kChunk = 256;
  const Index tiles = (x.rows + kTileRows - 1) / kTileRows;
  const Index panel = (x.units + Units::kHeader) * kTileColumns;
  const Index chunks = Units::kHeader != 0 || x.units <= kChunk ? 1 : (x.units + kChunk - 1) / kChunk;
  for (Index chunk = 0; chunk < chunks; ++chunk) {
    const Index first = x.units * chunk / chunks, units = x.units * (chunk + 1) / chunks - first;
    const std::uint32_t* panels = x.b + first * kTileColumns;
    // The same panels' next chunk, or the panels behind these, each tile a part.
    const std::uint32_t* later = chunk + 1 < chunks ? panels + units * kTileColumns
                                                    : x.b + (x.columns + kTileColumns - 1) / kTileColumns * panel;
    const Index lines = units * kTileColumns / kLine;
    for (Index t = 0; t < tiles; ++t) {
      const Index begin = x.rows * t / tiles, end = x.rows * (t + 1) / tiles;
      const std::uint32_t* b = panels;
      for (Index column = 0; column < x.columns; column += kTileColumns) {
        const int vectors = x.columns - column <= kLanes ? 1 : 2;
        const Tile kernel = tile_of<Units, kRow, kTileRows>(static_cast<int>(end - begin), vectors);
        const std::uint32_t* next = column + kTileColumns < x.columns ? b + panel : panels;
        kernel(x.a + begin * kRow + first, b, units, static_cast<std::uint32_t*>(x.c) + begin * x.c_stride + column,
               x.c_stride, x.add || chunk > 0, next, later + (b - panels) + lines * t / tiles * kLine);
        b = next;
      }
    }
  }
}

// The rate of multiply-adds that nothing holds up: twelve independent chains in registers. The operations that a second
// of this makes is the peak that products are measured against.
template <class Units>
double spin(Index steps) {
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

template <class Units>
constexpr ProductKernels product_kernels(void (*pack_a)(const Panels&, std::uint32_t*, Index),
                                         void (*pack_b)(const Panels&, std::uint32_t*)) {
  ProductKernels kernels;
  kernels.elements = Units::kElements;
  kernels.tile_rows = kTileRows;
  kernels.tile_columns = Units::kColumns;
  kernels.header_units = Units::kHeader;
  kernels.pack_a = pack_a;
  kernels.pack_b = pack_b;
  if constexpr (!requires { Units::kNarrowOnly; }) kernels.block = block<Units, kRowUnits>;
  kernels.block_narrow = block<Units, kNarrowUnits>;
  kernels.spin = spin<Units>;
  return kernels;
}

template <class FromFloat, class FromBf16>
constexpr ProductKernels float_kernels() {
  return product_kernels<typename FromFloat::Units>(pack_a_float<FromFloat, FromBf16>,
                                                    pack_b_float<FromFloat, FromBf16>);
}

template <class A, class B>
constexpr ProductKernels byte_kernels() {
  return product_kernels<typename A::Units>(pack_a_from<A>, pack_b_from<B>);
}

constexpr void fill_products(ProductKernels* table) {
  const auto of = [&](Arithmetic arithmetic) -> ProductKernels& { return table[static_cast<int>(arithmetic)]; };
  of(Arithmetic::kF32) = float_kernels<FloatFromFloat<FloatUnits>, FloatFromBf16<FloatUnits>>();
  of(Arithmetic::kBf16Wide) = float_kernels<FloatFromRoundedFloat<FloatUnits>, FloatFromBf16<FloatUnits>>();
  using Signed = PairsFromBytes<Int16Units, std::int8_t>;
  of(Arithmetic::kInt8) = byte_kernels<Signed, Signed>();
  of(Arithmetic::kUint8) = byte_kernels<PairsFromBytes<Int16Units, std::uint8_t>, Signed>();
#if defined(__AVX2__)
  of(Arithmetic::kInt4) = byte_kernels<Nibbles<NibbleUnits>, Quads<NibbleUnits>>();
#endif
}

}  // namespace
}  // namespace orrery::kernels
