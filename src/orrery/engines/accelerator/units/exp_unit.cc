#include "orrery/engines/accelerator/units/exp_unit.h"

#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::accelerator {
namespace {

// Of 2^a - a on [0, 1): 1 at its ends, least where its slope ln 2 2^a - 1 is 0.
double middle() {
  const double at = -std::log2(std::log(2.0));
  return (1 + std::exp2(at) - at) / 2;
}

std::int64_t rounded(double x) {
  return base::whole_number(std::floor(x + 0.5)).value_or(0);
}

}  // namespace

ExpUnit::ExpUnit(FixedPoint format, int table_bits, int append)
    : format_(format), table_bits_(table_bits), append_(append) {
  ORRERY_CHECK(append >= 4 && format.bits >= 1 && format.bits + append <= 56 && format.point >= 0 && table_bits >= 0 &&
                   table_bits <= format.point + append,
               "an exponential unit whose widths fit");
  const auto one = static_cast<double>(std::int64_t{1} << (format.point + append));
  if (table_bits == 0) {
    table_.push_back(rounded(middle() * one));
    return;
  }
  const auto entries = static_cast<double>(1 << table_bits);
  for (int i = 0; i < 1 << table_bits; ++i) {
    const double a = i / entries;
    table_.push_back(rounded((std::exp2(a) - a) * one));
  }
}

std::int64_t ExpUnit::operator()(std::int64_t x) const {
  const int width = format_.bits + append_, fraction = format_.point + append_;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  const std::uint64_t pattern = static_cast<std::uint64_t>(x) & ((std::uint64_t{1} << format_.bits) - 1);
  const std::uint64_t y = ((pattern << append_) + (pattern << (append_ - 1)) - (pattern << (append_ - 4))) & mask;
  const std::uint64_t whole = y >> fraction, part = y & ((std::uint64_t{1} << fraction) - 1);
  const std::uint64_t entry = table_bits_ == 0 ? 0 : part >> (fraction - table_bits_);
  const std::uint64_t sum = (part + static_cast<std::uint64_t>(table_[entry])) & mask;
  if (whole >= static_cast<std::uint64_t>(width)) return 0;
  const FixedPoint wide{width, fraction};
  return format_.wrapped(wide.wrapped(static_cast<std::int64_t>((sum << whole) & mask)) >> append_);
}

double ExpUnit::most() const {
  return (format_.bits - format_.point - 1) * std::log(2.0);
}

}  // namespace orrery::accelerator
