// What repeated measurements say together.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::base {

struct Sample {
  double median = 0, min = 0, max = 0;
  double stddev = 0;      // of the sample, n - 1; 0 of one
  std::size_t count = 0;  // n
};

// Of an empty list all zero. O(n log n).
Sample sample(std::vector<double> values);

}  // namespace orrery::base
