// Sanger's exponential unit, bit by bit: combinational, for numbers that are not negative.
//
//   y = x (1 + 1/2 - 1/16), about x log2 e, with `append` bits more behind the point
//   y = u + f, u whole:  2^y = 2^u 2^f,  2^f about f + d(f), d(f) = 2^a - a at the left edge a of f's 64th of [0, 1)
//
// With an empty table d is one constant, the middle of the least and the most of 2^a - a. All sums are modulo
// 2^(bits + append); a negative number's pattern is taken as an unsigned one and its result means nothing. Results hold
// while exp(x) < 2^(bits - point - 1). Source: Sanger's ExpUnitFixPoint (Chisel), read; figures it was held against:
// docs/model/sparse_array.md. Cost: a table look-up.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/engines/accelerator/units/fixed_point.h"

namespace orrery::accelerator {

class ExpUnit {
 public:
  // `table_bits`: 0, or the logarithm of the table's entries, at most point + append; `append` at least 4, so that the
  // sixteenth loses nothing; bits + append at most 56.
  explicit ExpUnit(FixedPoint format, int table_bits = 6, int append = 4);

  std::int64_t operator()(std::int64_t x) const;

  const std::vector<std::int64_t>& table() const { return table_; }
  // The largest x whose exp fits the format.
  double most() const;

 private:
  FixedPoint format_;
  int table_bits_, append_;
  std::vector<std::int64_t> table_;
};

}  // namespace orrery::accelerator
