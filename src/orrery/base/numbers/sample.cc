#include "orrery/base/numbers/sample.h"

#include <algorithm>
#include <cmath>

namespace orrery::base {

Sample sample(std::vector<double> values) {
  Sample out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  out.count = n;
  out.min = values.front();
  out.max = values.back();
  out.median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  if (n == 1) return out;
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(n);
  for (const double value : values) squares += (value - mean) * (value - mean);
  out.stddev = std::sqrt(squares / static_cast<double>(n - 1));
  return out;
}

}  // namespace orrery::base
