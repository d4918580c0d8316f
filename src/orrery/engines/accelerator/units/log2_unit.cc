#include "orrery/engines/accelerator/units/log2_unit.h"

#include <bit>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::accelerator {

Log2Unit::Log2Unit(int point) : point_(point) {
  constexpr int kEntries = 1 << kTableBits;
  for (int i = 0; i < kEntries; ++i) {
    const double a = (i + 0.5) / kEntries;
    table_.push_back(base::whole_number(std::floor(std::ldexp(std::log2(1 + a) - a, kPoint) + 0.5)).value_or(0));
  }
}

std::int64_t Log2Unit::operator()(std::uint64_t sum) const {
  if (sum == 0) sum = 1;
  const int p = static_cast<int>(std::bit_width(sum)) - 1;
  const std::uint64_t part = sum ^ (std::uint64_t{1} << p);
  const auto f = static_cast<std::int64_t>(p >= kPoint ? part >> (p - kPoint) : part << (kPoint - p));
  return (std::int64_t{p - point_} << kPoint) + f + table_[static_cast<std::size_t>(f >> (kPoint - kTableBits))];
}

}  // namespace orrery::accelerator
