#include "orrery/base/factor.h"

#include <algorithm>

#include "orrery/base/check.h"

namespace orrery::base {

std::vector<std::pair<Count, int>> prime_factors(Count n) {
  ORRERY_CHECK(n >= 1, "only positive numbers have prime factors here");
  std::vector<std::pair<Count, int>> factors;
  for (Count p = 2; p * p <= n; p += p == 2 ? 1 : 2) {
    int exponent = 0;
    for (; n % p == 0; n /= p) ++exponent;
    if (exponent > 0) factors.emplace_back(p, exponent);
  }
  if (n > 1) factors.emplace_back(n, 1);
  return factors;
}

std::vector<Count> divisors(Count n) {
  std::vector<Count> found{1};
  for (const auto& [prime, exponent] : prime_factors(n)) {
    const std::size_t before = found.size();
    Count power = 1;
    for (int e = 0; e < exponent; ++e) {
      power *= prime;
      for (std::size_t i = 0; i < before; ++i) found.push_back(found[i] * power);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace orrery::base
