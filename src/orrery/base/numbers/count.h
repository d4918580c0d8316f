// Checked 64-bit counting: loop bounds, words, accesses.
//
// Products of loop bounds overflow long before they look large (six dimensions of 4096 do). Readers
// and builders count with these functions; the engines check the largest product they can meet once
// (engines/nest/model/model.cc) and then use plain std::int64_t in their inner loops.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace orrery::base {

using Count = std::int64_t;

// The exact result does not fit 64 bits. Readers catch it and say which product, of which numbers.
struct OverflowError : std::overflow_error {
  using std::overflow_error::overflow_error;
};

inline Count checked_multiply(Count a, Count b) {
  Count product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw OverflowError("product exceeds 64 bits");
  return product;
}

inline Count checked_add(Count a, Count b) {
  Count sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw OverflowError("sum exceeds 64 bits");
  return sum;
}

// ceil(a / b) for a >= 0, b > 0.
inline Count ceil_divide(Count a, Count b) {
  return a / b + (a % b != 0);
}

}  // namespace orrery::base
