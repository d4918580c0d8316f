#include "orrery/engines/accelerator/units/signed_exp_unit.h"

#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::accelerator {

SignedExpUnit::SignedExpUnit(FixedPoint format, const ExpShape& shape)
    : long_(shape.long_log2),
      append_(shape.long_log2 ? 10 : 4),
      fraction_(format.point + append_),
      index_shift_(fraction_ - shape.table_bits),
      least_(-(std::int64_t{format.point + 1} << format.point)) {
  ORRERY_CHECK(format.point >= 1 && format.point <= 24 && shape.table_bits >= 1 && shape.table_bits <= 12 &&
                   shape.table_bits <= fraction_,
               "an exponential unit whose widths fit");
  // Beyond least_ y is below -(point + 1), and (f + d) < 2 is shifted out.
  const int entries = 1 << shape.table_bits;
  for (int i = 0; i < entries; ++i) {
    const double a = i == 0 ? 0 : (i + 0.5) / entries;
    table_.push_back(base::whole_number(std::floor(std::ldexp(std::exp2(a) - a, fraction_) + 0.5)).value_or(0));
  }
}

}  // namespace orrery::accelerator
