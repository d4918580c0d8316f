// Exponentials of numbers that are not positive, bit by bit: the unit that Sanger's lacks. Combinational.
//
//   y = x (1 + 1/2 - 1/16 [+ 1/256 + 1/1024]), about x log2 e, with `append` bits more behind the point: nothing is
//   lost y = u + f, u = floor(y) <= 0:   e(x) = (f + d(f)) >> (append - u), floored;   d(f) = 2^a - a
//
// a is the middle of f's interval of [0, 1), of which there are 2^table_bits; the first interval's is its left end, so
// that e(0) is 1 exactly. Entries of d are rounded to point + append bits behind the point, half up. The result is from
// 0 to 1, point + 1 bits without a sign. Sums of exponentials of differences from a maximum are at least 1.
//
// Its slope is 1.4375 / log2 e = 0.99640 with the short sum (e(x) is too large by exp(0.0036 |x|)), 0.99978 with the
// long one; what the table leaves is at most 0.5 % beside 0, 0.3 % elsewhere. Cost: a table look-up, four additions.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/engines/accelerator/instance.h"

namespace orrery::accelerator {

class SignedExpUnit {
 public:
  SignedExpUnit(FixedPoint format, const ExpShape& shape);

  // x <= 0, with the format's point; any width.
  std::int64_t operator()(std::int64_t x) const {
    if (x < least_) return 0;
    const std::int64_t y = (x << append_) + (x << (append_ - 1)) - (x << (append_ - 4)) + rest(x);
    const std::int64_t f = y & ((std::int64_t{1} << fraction_) - 1), u = y >> fraction_;
    return (f + table_[static_cast<std::size_t>(f >> index_shift_)]) >> (append_ - u);
  }

  const std::vector<std::int64_t>& table() const { return table_; }
  int append() const { return append_; }
  std::int64_t one() const { return std::int64_t{1} << (fraction_ - append_); }

 private:
  std::int64_t rest(std::int64_t x) const { return long_ ? (x << (append_ - 8)) + (x << (append_ - 10)) : 0; }

  bool long_;
  int append_, fraction_, index_shift_;
  std::int64_t least_;  // below it the result is 0
  std::vector<std::int64_t> table_;
};

}  // namespace orrery::accelerator
