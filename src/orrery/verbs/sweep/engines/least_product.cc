#include "orrery/verbs/sweep/engines/least_product.h"

#include <algorithm>
#include <cmath>

namespace orrery::sweep {

double least_product(const std::vector<BoundedPair>& pairs) {
  const auto sum = [&](double u) {
    const double t = std::exp(u);
    double out = 0;
    for (const BoundedPair& pair : pairs) {
      const double product = std::max(pair.product, pair.first * pair.second);
      double one = std::max(pair.first, std::sqrt(product) / t);
      if (pair.second > 0) one = std::min(one, product / pair.second);
      const double other = one > 0 ? product / one : pair.second;
      out += pair.times * (t * one + other / t);
    }
    return out;
  };
  // Where one of them is free its root decides; all such points lie between the least and the greatest.
  double low = 0, high = 0;
  bool any = false;
  for (const BoundedPair& pair : pairs) {
    const double product = std::max(pair.product, pair.first * pair.second);
    if (!(product > 0) || !std::isfinite(product)) continue;
    const double one = pair.second > 0 ? std::log(pair.second / std::sqrt(product)) : -700,
                 other = pair.first > 0 ? std::log(std::sqrt(product) / pair.first) : 700;
    low = any ? std::min(low, one) : one;
    high = any ? std::max(high, other) : other;
    any = true;
  }
  if (!any) return 0;
  constexpr double kGolden = 0.6180339887498949;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low), at_a = sum(a), at_b = sum(b);
  for (int i = 0; i < 100; ++i) {
    if (at_a <= at_b) {
      high = b, b = a, at_b = at_a;
      a = high - kGolden * (high - low), at_a = sum(a);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + kGolden * (high - low), at_b = sum(b);
    }
  }
  const double least = std::min(at_a, at_b);
  return least * least / 4 * (1 - 1e-9);
}

}  // namespace orrery::sweep
