// Packing: operands of products from memory, in any order, to rows of units (kernel_product.h).
//
// Idea. A unit has 32 bits and holds the elements that an instruction sums at once. Packed A has a row of units for
// each row, packed B panels of `kColumns` columns, unit after unit of depth. What lies in the direction of the units is
// copied a vector at a time; the rest is transposed in squares of kLanes x kLanes units. Where the inner loop takes
// steps of several units, zeros fill the last step, and rows of A up to `row_step`; where it takes several planes of a
// number, a step has kStep units of each.
//
// Cost: each element is read and written once, for each plane.
#pragma once

#include "orrery/runtime/kernels/compiled/lanes.h"
#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {
namespace {

inline std::uint32_t rounded_bits(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return x != x ? bits >> 16 | 0x40U : (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
}

// Halves of 16 bits that follow one another, those of `low` before those of `high`, two a lane.
inline U pairs(U low, U high) {
  std::uint16_t halves[2 * kLanes];
  store_low(halves, low);
  store_low(halves + kLanes, high);
  return load(reinterpret_cast<const std::uint32_t*>(halves));
}

// Sources: elements in memory to units. `unit` makes one from up to kElements elements, zeros beyond; `along` makes
// kLanes units from elements that follow one another in depth; `across` a unit of each of kLanes rows that do.
template <class To>
struct FloatFromFloat {
  using Element = float;
  using Units = To;
  static std::uint32_t unit(const float* p, Index, Index) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return bits;
  }
  static U along(const float* p) { return as_bits(load(p)); }
  static U across(const float* p, Index) { return as_bits(load(p)); }
};

template <class To>
struct FloatFromBf16 {
  using Element = std::uint16_t;
  using Units = To;
  static std::uint32_t unit(const std::uint16_t* p, Index, Index) { return std::uint32_t{*p} << 16; }
  static U along(const std::uint16_t* p) { return load_low(p) << 16; }
  static U across(const std::uint16_t* p, Index) { return load_low(p) << 16; }
};

template <class To>
struct FloatFromRoundedFloat {
  using Element = float;
  using Units = To;
  static std::uint32_t unit(const float* p, Index, Index) { return rounded_bits(*p) << 16; }
  static U along(const float* p) { return bf16_bits(load(p)) << 16; }
  static U across(const float* p, Index) { return along(p); }
};

template <class To>
struct PairsFromBf16 {
  using Element = std::uint16_t;
  using Units = To;
  static std::uint32_t unit(const std::uint16_t* p, Index stride, Index valid) {
    return valid > 1 ? p[0] | std::uint32_t{p[stride]} << 16 : p[0];
  }
  static U along(const std::uint16_t* p) { return load(reinterpret_cast<const std::uint32_t*>(p)); }
  static U across(const std::uint16_t* p, Index stride) { return load_low(p) | load_low(p + stride) << 16; }
};

template <class To>
struct PairsFromFloat {
  using Element = float;
  using Units = To;
  static std::uint32_t unit(const float* p, Index stride, Index valid) {
    return valid > 1 ? rounded_bits(p[0]) | rounded_bits(p[stride]) << 16 : rounded_bits(p[0]);
  }
  static U along(const float* p) {
#if defined(__AVX512BF16__)
    return (U)(__m512i)_mm512_cvtne2ps_pbh(load(p + kLanes), load(p));
#else
    return pairs(bf16_bits(load(p)), bf16_bits(load(p + kLanes)));
#endif
  }
  static U across(const float* p, Index stride) {
    return bf16_bits(load(p)) | bf16_bits(load(p + stride)) << 16;
  }
};

// Bytes, extended to 16 bits.
template <class To, class Byte>
struct PairsFromBytes {
  using Element = Byte;
  using Units = To;
  static std::uint32_t unit(const Byte* p, Index stride, Index valid) {
    const std::uint32_t low = static_cast<std::uint16_t>(p[0]);
    return valid > 1 ? low | std::uint32_t{static_cast<std::uint16_t>(p[stride])} << 16 : low;
  }
  static U along(const Byte* p) { return pairs(lanes_of(p), lanes_of(p + kLanes)); }
  static U across(const Byte* p, Index stride) { return lanes_of(p) | lanes_of(p + stride) << 16; }

 private:
  static U lanes_of(const Byte* p) {
    const U extended = (U)load_int8(reinterpret_cast<const std::int8_t*>(p));
    return extended & (static_cast<Byte>(-1) > 0 ? 0xffU : 0xffffU);
  }
};

template <class To, std::uint32_t kFlip = 0>  // 0x80808080: elements plus 128
struct Quads {
  using Element = std::int8_t;  // or unsigned
  using Units = To;
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

// The same of elements from -8 to 7, plus 8.
template <class To>
struct Nibbles {
  using Element = std::int8_t;
  using Units = To;
  using Plain = Quads<To>;
  static std::uint32_t unit(const std::int8_t* p, Index stride, Index valid) {
    return (Plain::unit(p, stride, valid) ^ 0x08080808U) & 0x0f0f0f0fU;
  }
  static U along(const std::int8_t* p) { return (Plain::along(p) ^ 0x08080808U) & 0x0f0f0f0fU; }
  static U across(const std::int8_t* p, Index stride) { return (Plain::across(p, stride) ^ 0x08080808U) & 0x0f0f0f0fU; }
};

// Where a source's unit u lies among packed ones: a step has kStep units of each of kPlanes planes.
template <class Source>
constexpr int plane_of() {
  if constexpr (requires { Source::kPlane; }) return Source::kPlane;
  return 0;
}
template <class Source>
constexpr Index packed_unit(Index u) {
  using Units = typename Source::Units;
  if constexpr (Units::kPlanes == 1) return u;
  return (u / Units::kStep * Units::kPlanes + plane_of<Source>()) * Units::kStep + u % Units::kStep;
}
// Units of a plane, up to a whole step.
template <class Units>
constexpr Index units_in(Index depth) {
  constexpr Index kStepElements = Index{Units::kElements} * Units::kStep;
  return (depth + kStepElements - 1) / kStepElements * Units::kStep;
}

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

// Rows that lie along the depth are copied one after the other, as memory is read fastest; others by squares. Units
// from [u, u + kLanes) that exist, and zeros up to the end of a step.
template <class Source>
void pack_a_from(const Panels& x, std::uint32_t* out, Index row_units) {
  using Units = typename Source::Units;
  constexpr Index kElements = Units::kElements;
  const Index whole = (x.depth + kElements - 1) / kElements, units = units_in<Units>(x.depth);
  const auto pack_units = [&](Index row, Index from) {
    for (Index u = from; u < from + kLanes && u < units; ++u) {
      out[row * row_units + packed_unit<Source>(u)] = u < whole ? unit_at<Source>(x, row, u) : 0;
    }
  };
  if (x.depth_stride == 1) {
    for (Index row = 0; row < x.rows; ++row) {
      const auto* from = static_cast<const typename Source::Element*>(x.data) + row * x.row_stride;
      Index u = 0;
      for (; (u + kLanes) * kElements <= x.depth; u += kLanes)
        store(out + row * row_units + packed_unit<Source>(u), Source::along(from + u * kElements));
      for (; u < units; u += kLanes) pack_units(row, u);
    }
  } else {
    each_square(x, units, [&](Index row, Index u) {
      U rows[kLanes];
      const bool full = square<Source>(x, row, u, false, rows);
      for (Index i = 0; i < kLanes && row + i < x.rows; ++i) {
        if (full) {
          store(out + (row + i) * row_units + packed_unit<Source>(u), rows[i]);
        } else {
          pack_units(row + i, u);
        }
      }
    });
  }
  if constexpr (Units::kStep > 1) {  // rows up to whole tiles
    for (Index row = x.rows; row % Units::kStep != 0; ++row) {
      for (Index u = 0; u < units; ++u) out[row * row_units + packed_unit<Source>(u)] = 0;
    }
  }
}

template <class Source>
void pack_b_from(const Panels& x, std::uint32_t* out) {
  using Units = typename Source::Units;
  constexpr Index kColumns = Units::kColumns;
  const Index whole = (x.depth + Units::kElements - 1) / Units::kElements, units = units_in<Units>(x.depth);
  const Index panel = (units * Units::kPlanes + Units::kHeader) * kColumns;
  const auto place = [&](Index column) {
    return out + column / kColumns * panel + column % kColumns + Units::kHeader * kColumns;
  };
  each_square(x, units, [&](Index column, Index u) {
    std::uint32_t* to = place(column);
    U rows[kLanes];
    if (square<Source>(x, column, u, true, rows)) {
      for (int i = 0; i < kLanes; ++i) store(to + packed_unit<Source>(u + i) * kColumns, rows[i]);
      return;
    }
    for (Index v = u; v < u + kLanes && v < units; ++v) {
      for (Index i = column; i < column + kLanes; ++i) {
        to[packed_unit<Source>(v) * kColumns + i - column] = i < x.rows && v < whole ? unit_at<Source>(x, i, v) : 0;
      }
    }
  });
  // What a last panel has beyond the last vector of columns.
  for (Index column = (x.rows + kLanes - 1) / kLanes * kLanes; column % kColumns != 0; column += kLanes) {
    for (Index u = 0; u < units; ++u) store(place(column) + packed_unit<Source>(u) * kColumns, U{});
  }
  if constexpr (Units::kHeader != 0) {
    for (Index column = 0; column < x.rows; column += kColumns) {
      for (int half = 0; half < 2; ++half) {
        std::uint32_t* to = place(column) + half * kLanes;
        store(to - kColumns, Units::header(to, units, kColumns));
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

// The largest and least magnitudes of a matrix that lies along one of its directions, or neither.
template <class Element>
void magnitudes_of(const Panels& x, Magnitudes& found) {
  const auto* data = static_cast<const Element*>(x.data);
  const bool along = x.depth_stride == 1;
  const Index lines = along ? x.rows : x.depth, length = along ? x.depth : x.rows;
  const Index line_stride = along ? x.row_stride : x.depth_stride, stride = along ? 1 : x.row_stride;
  U largest = {}, least = ~U{};
  const auto take = [&](F value) {
    const U bits = as_bits(magnitude(value)), below = bits - 1U;  // zeros become the largest number
    largest = bits > largest ? bits : largest;
    least = below < least ? below : least;
  };
  for (Index line = 0; line < lines; ++line) {
    const Element* p = data + line * line_stride;
    Index i = 0;
    if (stride == 1) {
      for (; i + kLanes <= length; i += kLanes) take(load_as_float(p + i));
    }
    for (; i < length; ++i) take(load_as_float(p + i * stride, 1));
  }
  for (int i = 0; i < kLanes; ++i) {
    found.largest = largest[i] > found.largest ? largest[i] : found.largest;
    found.least_below = least[i] < found.least_below ? least[i] : found.least_below;
  }
}

inline void magnitudes(const Panels& x, Magnitudes& found) {
  x.type == Type::kF32 ? magnitudes_of<float>(x, found) : magnitudes_of<std::uint16_t>(x, found);
}

// Sums over depth, for gradients of biases: in order of depth, in chains of kChain, so that the error is that of short
// sums and the pages of memory that a chain lies in are not left before all rows are through.
template <class Element>
void row_sums_of(const Panels& x, float* sums) {
  constexpr Index kChain = 16;
  const auto* data = static_cast<const Element*>(x.data);
  for (Index begin = 0; begin < x.depth; begin += kChain) {
    const Index end = begin + kChain < x.depth ? begin + kChain : x.depth;
    const Index step = x.row_stride == 1 ? kLanes : 1;
    for (Index row = 0; row < x.rows; row += step) {
      const int n = static_cast<int>(x.rows - row < step ? x.rows - row : step);
      const Element* p = data + row * x.row_stride;
      F sum = {};
      for (Index d = begin; d < end; ++d) {
        sum += n == kLanes ? load_as_float(p + d * x.depth_stride) : load_as_float(p + d * x.depth_stride, n);
      }
      store(sums + row, load(sums + row, n) + sum, n);
    }
  }
}

inline void row_sums(const Panels& x, float* sums) {
  x.type == Type::kF32 ? row_sums_of<float>(x, sums) : row_sums_of<std::uint16_t>(x, sums);
}

}  // namespace
}  // namespace orrery::kernels
