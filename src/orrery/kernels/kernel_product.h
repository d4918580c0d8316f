// Matrix products: packing, and the inner loop.
//
// Idea. C = A B is computed in tiles of a few rows by two vectors of columns that stay in registers while the depth
// runs. Each step loads two vectors of B, broadcasts one unit of each row of A and multiplies: with R rows 2 R products
// for 2 + R loads, so arithmetic is the bound. B is packed so that a step's vectors lie behind one another; A keeps its
// rows, at a constant distance (kRowUnits, or kNarrowUnits), so that the code addresses R rows from one register. A
// row-major A is packed by copying, any other by transposing small squares.
//
// A unit has 32 bits and holds as many elements as the instruction sums at once, so one loop serves fp32 (1 element),
// bf16 by vdpbf16ps (2), int8 through int16 (2) and int8 by vpdpbusd (4). vpdpbusd multiplies unsigned by signed: A is
// packed as a + 128, and each panel of B begins with -128 times the sums of its columns, where the sums of a tile
// start.
//
// Sources: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008); BLIS.
// Cost: 2 M N K operations; packing moves each element of A and B once a block.
#pragma once

#include "orrery/kernels/lanes.h"
#include "orrery/kernels/table.h"

namespace orrery::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 14;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileColumns = 2 * kLanes;

struct FloatUnits {
  using Sum = F;
  static constexpr int kElements = 1, kHeader = 0;
  static F step(F sum, U a, U b) { return fma(as_float(a), as_float(b), sum); }
};

struct Int16Units {
  using Sum = I;
  static constexpr int kElements = 2, kHeader = 0;
  static I step(I sum, U a, U b) { return dot_int16(sum, a, b); }
};

#if defined(__AVX512BF16__)
struct Bf16Units {
  using Sum = F;
  static constexpr int kElements = 2, kHeader = 0;
  static F step(F sum, U a, U b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
};
#endif

#if defined(__AVX512VNNI__)
struct Int8Units {
  using Sum = I;
  static constexpr int kElements = 4, kHeader = 1;
  static I step(I sum, U a, U b) { return (I)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b); }
};
#endif

// R rows, V vectors of columns.
template <class Units, int kRow, int R, int V>
void tile(const std::uint32_t* a, const std::uint32_t* b, Index units, std::uint32_t* c, Index c_stride, bool add) {
  typename Units::Sum sums[R][V];
  U head[V];
  for (int v = 0; v < V; ++v) head[v] = Units::kHeader != 0 ? load(b + v * kLanes) : U{};
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sums[r][v] = (typename Units::Sum)head[v];
    __builtin_prefetch(c + r * c_stride, 1);
    __builtin_prefetch(c + r * c_stride + kLanes, 1);
  }
  b += Units::kHeader * kTileColumns;
  for (Index u = 0; u < units; ++u) {
    U columns[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) columns[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const U row = all_bits(a[r * kRow]);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sums[r][v] = Units::step(sums[r][v], row, columns[v]);
    }
    b += kTileColumns;
    ++a;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      std::uint32_t* place = c + r * c_stride + v * kLanes;
      if (add) sums[r][v] += (typename Units::Sum)load(place);
      store(place, (U)sums[r][v]);
    }
  }
}

using Tile = void (*)(const std::uint32_t*, const std::uint32_t*, Index, std::uint32_t*, Index, bool);

// The tile of r rows and v vectors; of the largest there are R.
template <class Units, int kRow, int R>
Tile tile_of(int r, int v) {
  if constexpr (R > 1) {
    if (r < R) return tile_of<Units, kRow, R - 1>(r, v);
  }
  return v == 1 ? tile<Units, kRow, R, 1> : tile<Units, kRow, R, 2>;
}

// Rows are cut into tiles of almost equal height: a last tile of a row or two would be slow.
template <class Units, int kRow>
void block(const Block& x) {
  const Index tiles = (x.rows + kTileRows - 1) / kTileRows;
  const Index panel = (x.units + Units::kHeader) * kTileColumns;
  for (Index column = 0; column < x.columns; column += kTileColumns) {
    const std::uint32_t* b = x.b + column / kTileColumns * panel;
    const int vectors = x.columns - column <= kLanes ? 1 : 2;
    for (Index t = 0; t < tiles; ++t) {
      const Index begin = x.rows * t / tiles, end = x.rows * (t + 1) / tiles;
      const Tile kernel = tile_of<Units, kRow, kTileRows>(static_cast<int>(end - begin), vectors);
      kernel(x.a + begin * kRow, b, x.units, static_cast<std::uint32_t*>(x.c) + begin * x.c_stride + column, x.c_stride,
             x.add);
    }
  }
}

// Sources: elements in memory to units. `unit` makes one from up to kElements elements, zeros beyond; `along` makes
// kLanes units from elements that follow one another in depth; `across` a unit of each of kLanes rows that do.
struct FloatFromFloat {
  using Element = float;
  using Units = FloatUnits;
  static std::uint32_t unit(const float* p, Index, Index) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return bits;
  }
  static U along(const float* p) { return as_bits(load(p)); }
  static U across(const float* p, Index) { return as_bits(load(p)); }
};

struct FloatFromBf16 {
  using Element = std::uint16_t;
  using Units = FloatUnits;
  static std::uint32_t unit(const std::uint16_t* p, Index, Index) { return std::uint32_t{*p} << 16; }
  static U along(const std::uint16_t* p) { return load_low(p) << 16; }
  static U across(const std::uint16_t* p, Index) { return load_low(p) << 16; }
};

inline std::uint32_t rounded_bits(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return x != x ? bits >> 16 | 0x40U : (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
}

struct FloatFromRoundedFloat {
  using Element = float;
  using Units = FloatUnits;
  static std::uint32_t unit(const float* p, Index, Index) { return rounded_bits(*p) << 16; }
  static U along(const float* p) { return bf16_bits(load(p)) << 16; }
  static U across(const float* p, Index) { return along(p); }
};

#if defined(__AVX512BF16__)
struct PairsFromBf16 {
  using Element = std::uint16_t;
  using Units = Bf16Units;
  static std::uint32_t unit(const std::uint16_t* p, Index stride, Index valid) {
    return valid > 1 ? p[0] | std::uint32_t{p[stride]} << 16 : p[0];
  }
  static U along(const std::uint16_t* p) { return load(reinterpret_cast<const std::uint32_t*>(p)); }
  static U across(const std::uint16_t* p, Index stride) { return load_low(p) | load_low(p + stride) << 16; }
};

struct PairsFromFloat {
  using Element = float;
  using Units = Bf16Units;
  static std::uint32_t unit(const float* p, Index stride, Index valid) {
    return valid > 1 ? rounded_bits(p[0]) | rounded_bits(p[stride]) << 16 : rounded_bits(p[0]);
  }
  static U along(const float* p) { return (U)(__m512i)_mm512_cvtne2ps_pbh(load(p + kLanes), load(p)); }
  static U across(const float* p, Index stride) { return bf16_bits(load(p)) | bf16_bits(load(p + stride)) << 16; }
};
#endif

struct PairsFromInt8 {
  using Element = std::int8_t;
  using Units = Int16Units;
  static std::uint32_t unit(const std::int8_t* p, Index stride, Index valid) {
    const std::uint32_t low = static_cast<std::uint16_t>(p[0]);
    return valid > 1 ? low | std::uint32_t{static_cast<std::uint16_t>(p[stride])} << 16 : low;
  }
  static U along(const std::int8_t* p) {
    std::uint32_t units[kLanes];
    for (int i = 0; i < kLanes; ++i) units[i] = unit(p + 2 * i, 1, 2);
    return load(units);
  }
  static U across(const std::int8_t* p, Index stride) {
    return ((U)load_int8(p) & 0xffffU) | (U)load_int8(p + stride) << 16;
  }
};

#if defined(__AVX512VNNI__)
template <std::uint32_t kFlip>  // 0x80808080: elements plus 128
struct QuadsFromInt8 {
  using Element = std::int8_t;
  using Units = Int8Units;
  static std::uint32_t unit(const std::int8_t* p, Index stride, Index valid) {
    std::uint32_t bits = 0;
    for (Index i = 0; i < valid && i < 4; ++i) bits |= std::uint32_t{static_cast<std::uint8_t>(p[i * stride])} << 8 * i;
    return bits ^ kFlip;
  }
  static U along(const std::int8_t* p) { return load(reinterpret_cast<const std::uint32_t*>(p)) ^ kFlip; }
  static U across(const std::int8_t* p, Index stride) {
    U bits = {};
    for (int i = 0; i < 4; ++i) bits |= ((U)load_int8(p + i * stride) & 0xffU) << 8 * i;
    return bits ^ kFlip;
  }
};
#endif

// Units [u, u + kLanes) of rows [row, row + kLanes) that are whole, as rows of units or (transposed) columns of them.
template <class Source>
bool square(const Panels& x, Index row, Index u, bool columns, U (&units)[kLanes]) {
  constexpr int kElements = Source::Units::kElements;
  if (row + kLanes > x.rows || (u + kLanes) * kElements > x.depth) return false;
  const auto* p =
      static_cast<const typename Source::Element*>(x.data) + row * x.row_stride + u * kElements * x.depth_stride;
  if (x.depth_stride == 1) {
    for (int i = 0; i < kLanes; ++i) units[i] = Source::along(p + i * x.row_stride);
    if (columns) transpose(units);
    return true;
  }
  if (x.row_stride != 1) return false;
  for (int i = 0; i < kLanes; ++i) units[i] = Source::across(p + i * kElements * x.depth_stride, x.depth_stride);
  if (!columns) transpose(units);
  return true;
}

template <class Source>
std::uint32_t unit_at(const Panels& x, Index row, Index u) {
  constexpr int kElements = Source::Units::kElements;
  const auto* p =
      static_cast<const typename Source::Element*>(x.data) + row * x.row_stride + u * kElements * x.depth_stride;
  return Source::unit(p, x.depth_stride, x.depth - u * kElements);
}

// f(row, unit) for the corners of all squares, in the order in which memory is read: a step to the next page of memory
// costs more than the square.
template <class Function>
void each_square(const Panels& x, Index units, Function f) {
  if (x.depth_stride == 1) {
    for (Index row = 0; row < x.rows; row += kLanes) {
      for (Index u = 0; u < units; u += kLanes) f(row, u);
    }
  } else {
    for (Index u = 0; u < units; u += kLanes) {
      for (Index row = 0; row < x.rows; row += kLanes) f(row, u);
    }
  }
}

template <class Source>
void pack_a_from(const Panels& x, std::uint32_t* out, Index row_units) {
  constexpr int kElements = Source::Units::kElements;
  const Index units = (x.depth + kElements - 1) / kElements;
  each_square(x, units, [&](Index row, Index u) {
    U rows[kLanes];
    if (square<Source>(x, row, u, false, rows)) {
      for (int i = 0; i < kLanes; ++i) store(out + (row + i) * row_units + u, rows[i]);
      return;
    }
    for (Index i = row; i < row + kLanes && i < x.rows; ++i) {
      for (Index v = u; v < u + kLanes && v < units; ++v) out[i * row_units + v] = unit_at<Source>(x, i, v);
    }
  });
}

// Of kLanes columns of a packed panel: -128 times their sums.
#if defined(__AVX512VNNI__)
inline U negative_sums(const std::uint32_t* units, Index count) {
  __m512i sums = _mm512_setzero_si512();
  for (Index u = 0; u < count; ++u) {
    sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), (__m512i)load(units + u * kTileColumns));
  }
  return (U)_mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sums, 7));
}
#else
inline U negative_sums(const std::uint32_t*, Index) {
  return U{};
}
#endif

template <class Source>
void pack_b_from(const Panels& x, std::uint32_t* out) {
  using Units = typename Source::Units;
  const Index units = (x.depth + Units::kElements - 1) / Units::kElements;
  const Index panel = (units + Units::kHeader) * kTileColumns;
  const auto place = [&](Index column) {
    return out + column / kTileColumns * panel + column % kTileColumns + Units::kHeader * kTileColumns;
  };
  each_square(x, units, [&](Index column, Index u) {
    std::uint32_t* to = place(column);
    U rows[kLanes];
    if (square<Source>(x, column, u, true, rows)) {
      for (int i = 0; i < kLanes; ++i) store(to + (u + i) * kTileColumns, rows[i]);
      return;
    }
    for (Index v = u; v < u + kLanes && v < units; ++v) {
      for (Index i = column; i < column + kLanes; ++i) {
        to[v * kTileColumns + i - column] = i < x.rows ? unit_at<Source>(x, i, v) : 0;
      }
    }
  });
  // The second half of a last panel that has none of the columns.
  if ((x.rows + kLanes - 1) / kLanes % 2 != 0) {
    std::uint32_t* to = place(x.rows / kTileColumns * kTileColumns + kLanes);
    for (Index u = 0; u < units; ++u) store(to + u * kTileColumns, U{});
  }
  if constexpr (Units::kHeader != 0) {
    for (Index column = 0; column < x.rows; column += kTileColumns) {
      for (int half = 0; half < 2; ++half) {
        std::uint32_t* to = place(column) + half * kLanes;
        store(to - kTileColumns, negative_sums(to, units));
      }
    }
  }
}

template <class FromFloat, class FromBf16>
void pack_a_float(const Panels& x, std::uint32_t* out, Index row_units) {
  x.type == Type::kF32 ? pack_a_from<FromFloat>(x, out, row_units) : pack_a_from<FromBf16>(x, out, row_units);
}

template <class FromFloat, class FromBf16>
void pack_b_float(const Panels& x, std::uint32_t* out) {
  x.type == Type::kF32 ? pack_b_from<FromFloat>(x, out) : pack_b_from<FromBf16>(x, out);
}

template <class Units>
constexpr ProductKernels product_kernels(void (*pack_a)(const Panels&, std::uint32_t*, Index),
                                         void (*pack_b)(const Panels&, std::uint32_t*)) {
  return {Units::kElements,          kTileRows, kTileColumns, Units::kHeader, pack_a, pack_b, block<Units, kRowUnits>,
          block<Units, kNarrowUnits>};
}

constexpr void fill_products(ProductKernels* table) {
  table[static_cast<int>(Arithmetic::kF32)] = product_kernels<FloatUnits>(pack_a_float<FloatFromFloat, FloatFromBf16>,
                                                                          pack_b_float<FloatFromFloat, FloatFromBf16>);
  table[static_cast<int>(Arithmetic::kBf16Wide)] = product_kernels<FloatUnits>(
      pack_a_float<FloatFromRoundedFloat, FloatFromBf16>, pack_b_float<FloatFromRoundedFloat, FloatFromBf16>);
#if defined(__AVX512BF16__)
  table[static_cast<int>(Arithmetic::kBf16Dot)] = product_kernels<Bf16Units>(
      pack_a_float<PairsFromFloat, PairsFromBf16>, pack_b_float<PairsFromFloat, PairsFromBf16>);
#endif
#if defined(__AVX512VNNI__)
  table[static_cast<int>(Arithmetic::kInt8)] =
      product_kernels<Int8Units>(pack_a_from<QuadsFromInt8<0x80808080U>>, pack_b_from<QuadsFromInt8<0U>>);
#else
  table[static_cast<int>(Arithmetic::kInt8)] =
      product_kernels<Int16Units>(pack_a_from<PairsFromInt8>, pack_b_from<PairsFromInt8>);
#endif
}

// Sums over depth, for gradients of biases: in order of depth, in blocks of a packed A.
template <class Element>
void row_sums_of(const Panels& x, float* sums) {
  const auto* data = static_cast<const Element*>(x.data);
  if (x.row_stride == 1) {
    for (Index row = 0; row < x.rows; row += kLanes) {
      const int n = static_cast<int>(x.rows - row < kLanes ? x.rows - row : kLanes);
      F sum = {};
      for (Index d = 0; d < x.depth; ++d) {
        const Element* p = data + row + d * x.depth_stride;
        sum += n == kLanes ? load_as_float(p) : load_as_float(p, n);
      }
      store(sums + row, load(sums + row, n) + sum, n);
    }
    return;
  }
  for (Index row = 0; row < x.rows; ++row) {
    float sum = 0;
    for (Index d = 0; d < x.depth; ++d) {
      float one[kLanes];
      store(one, load_as_float(data + row * x.row_stride + d * x.depth_stride, 1));
      sum += one[0];
    }
    sums[row] += sum;
  }
}

inline void row_sums(const Panels& x, float* sums) {
  x.type == Type::kF32 ? row_sums_of<float>(x, sums) : row_sums_of<std::uint16_t>(x, sums);
}

}  // namespace
}  // namespace orrery::kernels
