// How outputs of blocks become a query's output, as whole numbers; P: the sums' bits behind the point.
//
// A block leaves (m, s, o) for a query: its largest score, the sum of exponentials below it, values weighted by them.
// What has been merged is (M, S, O), at first (least number, 0, 0):
//
//   M' = max(M, m),  a = e(M - M'),  b = e(m - M'):     S' = (a S + b s + 2^(P - 1)) >> P,   O' likewise
//
// One of a and b is 1 exactly, so that S >= 1 once there is an entry. In the end
//
//   r = floor(2^(P + 24) / S), 0 for S = 0;   output = saturated((O r + 2^(k - 1)) >> k),   k = P + 24 - output's point
//
// Halves are rounded up. Source: online softmax (M. Milakov, N. Gimelshein, 2018), in fixed point.
#pragma once

#include <algorithm>

#include "orrery/engines/accelerator/units/signed_exp_unit.h"

namespace orrery::accelerator {

class MergerArithmetic {
 public:
  explicit MergerArithmetic(const Instance& instance)
      : unit_(instance.numbers.sum, instance.exponential),
        sum_(instance.numbers.sum),
        output_(instance.numbers.output),
        shift_(instance.numbers.sum.point + kReciprocalBits - 1 - instance.numbers.output.point) {}

  std::int64_t least() const { return -(std::int64_t{1} << (sum_.bits - 1)); }

  struct Weights {
    std::int64_t most = 0, old = 0, fresh = 0;  // M', a, b
  };
  Weights weights(std::int64_t merged_most, std::int64_t block_most) const {
    const std::int64_t most = std::max(merged_most, block_most);
    return {most, unit_(merged_most - most), unit_(block_most - most)};
  }
  std::int64_t merged(const Weights& w, std::int64_t old, std::int64_t fresh) const {
    return (w.old * old + w.fresh * fresh + (std::int64_t{1} << (sum_.point - 1))) >> sum_.point;
  }

  // What the reciprocal's divider takes.
  std::uint64_t dividend() const { return std::uint64_t{1} << (sum_.point + kReciprocalBits - 1); }
  std::int64_t reciprocal(std::int64_t sum) const {
    return sum == 0 ? 0 : static_cast<std::int64_t>(dividend() / static_cast<std::uint64_t>(sum));
  }
  std::int64_t normalised(std::int64_t element, std::int64_t reciprocal, Count& saturated) const {
    const std::int64_t x = (element * reciprocal + (std::int64_t{1} << (shift_ - 1))) >> shift_;
    const std::int64_t most = (std::int64_t{1} << (output_.bits - 1)) - 1;
    if (x > most || x < -most - 1) ++saturated;
    return std::clamp(x, -most - 1, most);
  }

 private:
  SignedExpUnit unit_;
  FixedPoint sum_, output_;
  int shift_;
};

}  // namespace orrery::accelerator
