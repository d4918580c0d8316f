// The arithmetic of the constraint macro `maximize_dims`.
#pragma once

#include <optional>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::formats::timeloop {

struct Maximised {
  std::vector<base::Count> factors;  // one divisor per size; their product is at most the capacity
  // What Timeloop would take instead, where it prefers a factor that leaves a remainder. Empty: the same.
  std::vector<base::Count> with_remainder;
};

// The divisors of `sizes` with the largest product up to `capacity`. Nothing when there are too many to try.
std::optional<Maximised> maximise(const std::vector<base::Count>& sizes, base::Count capacity);

}  // namespace orrery::formats::timeloop
