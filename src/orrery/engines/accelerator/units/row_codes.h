// The quantiser's arithmetic of a row, as whole numbers: what quantiser_unit.h does stage by stage.
//
//   N = floor(sqrt(2^8 sum x^2)), or 1.0 without normalisation
//   M = N 2^e with 2^(w - 1) <= M < 2^w, w the norm's bits;   quotient = floor(reciprocal 2^(w - 1) / M), 17 bits
//   code = sign(x) min(n, (|x| quotient + 2^(s - 1)) >> s),   s = shift + w - 5 - e:  rounded to nearest, halves away
//   from 0 factor = min(2^16 - 1, (N factor + 2^(factor_shift - 1)) >> factor_shift)
//
// A row of zeros: M = 0, and every code and the factor are 0.
#pragma once

#include <bit>
#include <cstdint>

#include "orrery/engines/accelerator/units/divider.h"
#include "orrery/engines/accelerator/units/quantiser_constants.h"

namespace orrery::accelerator {

struct RowScale {
  std::uint64_t quotient = 0;
  int shift = 1;
  std::uint64_t factor = 0;
};

inline constexpr int kQuotientBits = 17;

// N of a row whose squares add up to `squares`.
inline std::uint64_t norm_of(const QuantiserConstants& c, std::uint64_t squares) {
  return c.normalise ? square_root(squares << (2 * kNormExtra)) : std::uint64_t{1} << (c.point + kNormExtra);
}
// e: zeros that lead a norm; one less than the bits of a norm of 0.
inline int leading_zeros(const QuantiserConstants& c, std::uint64_t norm) {
  return norm == 0 ? c.norm_bits - 1 : c.norm_bits - static_cast<int>(std::bit_width(norm));
}
inline int code_shift(const QuantiserConstants& c, int zeros) {
  return c.shift + c.norm_bits - 1 - kNormExtra - zeros;
}
inline std::uint64_t factor_of(const QuantiserConstants& c, std::uint64_t norm) {
  const std::uint64_t product = norm * c.factor + (std::uint64_t{1} << (c.factor_shift - 1));
  return std::min<std::uint64_t>(product >> c.factor_shift, 0xffff);
}

inline RowScale row_scale(const QuantiserConstants& c, std::uint64_t squares) {
  const std::uint64_t norm = norm_of(c, squares);
  const int zeros = leading_zeros(c, norm);
  const std::uint64_t quotient = norm == 0 ? 0 : (c.reciprocal << (c.norm_bits - 1)) / (norm << zeros);
  return {quotient, code_shift(c, zeros), factor_of(c, norm)};
}

// Of one element; `clipped` counts those beyond n.
inline int code_of(const QuantiserConstants& c, const RowScale& row, std::int64_t x, Count& clipped) {
  const auto size = static_cast<std::uint64_t>(x < 0 ? -x : x);
  const std::uint64_t code = (size * row.quotient + (std::uint64_t{1} << (row.shift - 1))) >> row.shift;
  const bool beyond = code > static_cast<std::uint64_t>(c.most);
  clipped += beyond ? 1 : 0;
  const int kept = beyond ? c.most : static_cast<int>(code);
  return x < 0 ? -kept : kept;
}

}  // namespace orrery::accelerator
