// maximize_dims: fill a capacity with prime factors of some dimensions.
//
// Idea: take one prime of one dimension at a time while it fits, over all orders of doing so, and keep the
// largest product. What is still to be covered by the other primes depends only on how much of each dimension
// has been taken, so each such state is solved once:
//
//   best(r, c) = max(1, max over dims d, primes p of r_d with p <= c:  p * best(r with r_d / p, floor(c / p)))
//
// where c = floor(capacity / taken). Of equal products the first wins: dimensions in the user's order, small
// primes first. Timeloop's front end also considers, in each state, the largest part of a dimension that fits
// without dividing it: alloc = ceil(r / ceil(r / c)), worth its average use (alloc * (n - 1) + r mod alloc) / n,
// n = ceil(r / c). Orrery tiles by whole divisors; the second result tells where the two differ.
// Source: the constraint macros of Timeloop's v4 front end. Cost: states = product over dimensions of their
// number of divisors, at most kMostStates.
#include "orrery/formats/timeloop/constraints/maximize_dims.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace orrery::formats::timeloop {
namespace {

using base::Count;

constexpr std::size_t kMostStates = 200'000;
constexpr Count kLargestTrialDivisor = 1'000'000;

// Primes up to the trial limit; a larger rest counts as one prime (it is, below 10^12).
std::vector<Count> distinct_primes(Count n) {
  std::vector<Count> primes;
  for (Count p = 2; p <= kLargestTrialDivisor && p <= n / p; ++p) {
    if (n % p != 0) continue;
    primes.push_back(p);
    while (n % p == 0) n /= p;
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

class Greedy {
 public:
  Greedy(const std::vector<Count>& sizes, bool remainders) : remainders_(remainders) {
    for (Count size : sizes) primes_.push_back(distinct_primes(size));
  }

  struct Best {
    double use = 1;
    std::vector<Count> factors;
  };

  const Best* solve(const std::vector<Count>& left, Count capacity) {
    if (const auto known = states_.find(left); known != states_.end()) return &known->second;
    if (states_.size() >= kMostStates) return nullptr;
    states_[left];  // claims its place in the count; a state never meets itself below
    Best best;
    best.factors.assign(left.size(), 1);
    for (std::size_t d = 0; d < left.size() && capacity > 1; ++d) {
      if (remainders_ && left[d] > capacity) {
        const Count steps = base::ceil_divide(left[d], capacity);
        const Count part = base::ceil_divide(left[d], steps);
        const double use =
            (static_cast<double>(part) * static_cast<double>(steps - 1) + static_cast<double>(left[d] % part)) /
            static_cast<double>(steps);
        if (use > best.use) {
          best.use = use;
          best.factors.assign(left.size(), 1);
          best.factors[d] = part;
        }
      }
      for (Count p : primes_[d]) {
        if (p > capacity || left[d] % p != 0) continue;
        std::vector<Count> rest = left;
        rest[d] /= p;
        const Best* below = solve(rest, capacity / p);
        if (!below) return nullptr;
        const double use = below->use * static_cast<double>(p);
        if (use > best.use) {
          best.use = use;
          best.factors = below->factors;
          best.factors[d] *= p;
        }
      }
    }
    return &(states_[left] = std::move(best));
  }

 private:
  bool remainders_;
  std::vector<std::vector<Count>> primes_;
  std::map<std::vector<Count>, Best> states_;
};

}  // namespace

std::optional<Maximised> maximise(const std::vector<Count>& sizes, Count capacity) {
  Greedy whole(sizes, false);
  const Greedy::Best* best = whole.solve(sizes, capacity);
  if (!best) return std::nullopt;
  Maximised result;
  result.factors = best->factors;
  Greedy loose(sizes, true);
  const Greedy::Best* other = loose.solve(sizes, capacity);
  if (other && other->use > best->use) result.with_remainder = other->factors;
  return result;
}

}  // namespace orrery::formats::timeloop
