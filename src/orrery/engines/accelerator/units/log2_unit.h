// Logarithms to base 2 of positive fixed-point numbers, bit by bit. Combinational.
//
//   S = 2^p (1 + f), f cut to 16 bits:   log2 S = p - point + f + c(f),   c(f) = log2(1 + a) - a
//
// a is the middle of f's 64th of [0, 1); entries are rounded to 16 bits behind the point, half up, as the result has.
// Off by at most 0.0036. Of 0 it is that of the least number. Cost: a leading one, a shift, a table look-up.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::accelerator {

class Log2Unit {
 public:
  static constexpr int kPoint = 16, kTableBits = 6;

  explicit Log2Unit(int point);

  std::int64_t operator()(std::uint64_t sum) const;
  const std::vector<std::int64_t>& table() const { return table_; }

 private:
  int point_;
  std::vector<std::int64_t> table_;
};

}  // namespace orrery::accelerator
