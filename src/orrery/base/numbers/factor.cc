// Trial division up to 2^16; what remains has three prime factors at most, each larger. The Miller-Rabin test tells
// primes from composites, with bases that are exact for all 64-bit numbers (J. Sinclair, 2011), and Pollard's rho
// method (1975) finds the factors, with fixed starts, so that it is deterministic. Some 10 ms at worst.
#include "orrery/base/numbers/factor.h"

#include <algorithm>
#include <numeric>

#include "orrery/base/diagnostics/check.h"

namespace orrery::base {
namespace {

constexpr Count kMostTried = 1 << 16;

Count product_modulo(Count a, Count b, Count n) {
  return static_cast<Count>(static_cast<__int128>(a) * b % n);
}

Count power_modulo(Count base, Count exponent, Count n) {
  Count result = 1;
  for (base %= n; exponent > 0; exponent >>= 1, base = product_modulo(base, base, n))
    if (exponent & 1) result = product_modulo(result, base, n);
  return result;
}

// Of an odd n > 2.
bool is_prime(Count n) {
  const int twos = __builtin_ctzll(static_cast<unsigned long long>(n - 1));
  const Count odd = (n - 1) >> twos;
  for (const Count base : {2, 325, 9375, 28178, 450775, 9780504, 1795265022}) {
    if (base % n == 0) continue;
    Count x = power_modulo(base, odd, n);
    if (x == 1) continue;
    int squared = 0;
    for (; squared < twos && x != n - 1; ++squared) x = product_modulo(x, x, n);
    if (squared == twos) return false;
  }
  return true;
}

// A proper divisor of an odd composite n.
Count some_divisor(Count n) {
  for (Count shift = 1;; ++shift) {
    const auto next = [&](Count x) { return static_cast<Count>((static_cast<__int128>(x) * x + shift) % n); };
    Count slow = 2, fast = 2, divisor = 1;
    while (divisor == 1) {
      slow = next(slow);
      fast = next(next(fast));
      divisor = std::gcd(slow > fast ? slow - fast : fast - slow, n);
    }
    if (divisor != n) return divisor;
  }
}

void split(Count n, std::vector<Count>& primes) {
  if (n == 1) return;
  if (is_prime(n)) {
    primes.push_back(n);
    return;
  }
  const Count divisor = some_divisor(n);
  split(divisor, primes);
  split(n / divisor, primes);
}

}  // namespace

std::vector<std::pair<Count, int>> prime_factors(Count n) {
  ORRERY_CHECK(n >= 1, "only positive numbers have prime factors here");
  std::vector<std::pair<Count, int>> factors;
  Count p = 2;
  for (; p <= kMostTried && p * p <= n; p += p == 2 ? 1 : 2) {
    int exponent = 0;
    for (; n % p == 0; n /= p) ++exponent;
    if (exponent > 0) factors.emplace_back(p, exponent);
  }
  if (n > 1 && p * p > n) {
    factors.emplace_back(n, 1);
  } else if (n > 1) {
    std::vector<Count> primes;
    split(n, primes);
    std::sort(primes.begin(), primes.end());
    for (const Count prime : primes) {
      if (factors.empty() || factors.back().first != prime) factors.emplace_back(prime, 0);
      ++factors.back().second;
    }
  }
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
