// Divisors and prime factors of loop bounds. Trial division: O(sqrt n), enough for bounds below 2^40.
#pragma once

#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::base {

// (prime, exponent) pairs of n >= 1, primes rising; empty for 1.
std::vector<std::pair<Count, int>> prime_factors(Count n);

// All divisors of n >= 1, rising.
std::vector<Count> divisors(Count n);

}  // namespace orrery::base
