// From a sum of offset codes to a predicted score, and a row's running statistics, bit by bit.
// docs/model/sparse_array.md.
//
// Codes c from -n to n enter the prediction array as u = c + o, o = 2^(bits - 1), so that it can stay unsigned:
//
//   s = sum u_q u_k - o (sum u_q + sum u_k) + d o^2                       what the signed codes' product is
//   z = saturated((s f_q f_k + 2^(k - 1)) >> k)                           f: factors, k = score_shift; halves go up
//
// While scores drain, each row keeps its maximum m and the sum of exponentials relative to it, in the format of sums:
//
//   z > m:  sum <= ((sum e(m - z)) >> point) + 1, m <= z;      else  sum <= sum + e(z - m)
//
// beginning with m = the least score, sum = 0. Then a row's threshold: softmax(z) > thr is z > m + ln(thr sum), so
//
//   t = min(m + ((log2 sum + log2 thr) 45426 >> (32 - point of scores)), m - 1);      45426 = ln 2, 16 bits behind
//
// floored; the row's maximum always stays. keep = z > t and the pair is valid.
#pragma once

#include <algorithm>

#include "orrery/engines/accelerator/units/log2_unit.h"
#include "orrery/engines/accelerator/units/quantiser_constants.h"
#include "orrery/engines/accelerator/units/signed_exp_unit.h"

namespace orrery::accelerator {

// The signed product of codes, of that of offset ones.
inline std::int64_t signed_sum(std::int64_t sum, std::int64_t row_sum, std::int64_t column_sum, Count depth,
                               int code_bits) {
  const std::int64_t offset = std::int64_t{1} << (code_bits - 1);
  return sum - offset * (row_sum + column_sum) + depth * offset * offset;
}

class ScoreUnit {
 public:
  ScoreUnit(const Instance& instance, const PredictionConstants& constants)
      : unit_(instance.numbers.sum, instance.exponential),
        log2_(instance.numbers.sum.point),
        sum_point_(instance.numbers.sum.point),
        score_(instance.numbers.score),
        to_sum_(instance.numbers.sum.point - instance.numbers.score.point),
        shift_(constants.score_shift),
        threshold_(constants.threshold) {}

  std::int64_t most() const { return (std::int64_t{1} << (score_.bits - 1)) - 1; }
  std::int64_t least() const { return -most() - 1; }

  // z; `saturated` counts those that did not fit.
  std::int64_t rescaled(std::int64_t sum, std::uint64_t query_factor, std::uint64_t key_factor,
                        Count& saturated) const {
    const auto factor = static_cast<std::int64_t>(query_factor * key_factor);
    const std::int64_t z = (sum * factor + (std::int64_t{1} << (shift_ - 1))) >> shift_;
    if (z > most() || z < least()) ++saturated;
    return std::clamp(z, least(), most());
  }

  struct Row {
    std::int64_t most = 0, sum = 0;
  };
  Row cleared() const { return {least(), 0}; }
  void add(Row& row, std::int64_t z) const {
    if (z > row.most) {
      row.sum = ((row.sum * unit_((row.most - z) << to_sum_)) >> sum_point_) + unit_.one();
      row.most = z;
    } else {
      row.sum += unit_((z - row.most) << to_sum_);
    }
  }

  std::int64_t threshold(const Row& row) const {
    constexpr std::int64_t kLn2 = 45426;
    const std::int64_t log = log2_(static_cast<std::uint64_t>(row.sum)) + threshold_;
    return std::min(row.most + ((log * kLn2) >> (32 - score_.point)), row.most - 1);
  }

 private:
  SignedExpUnit unit_;
  Log2Unit log2_;
  int sum_point_;
  FixedPoint score_;
  int to_sum_, shift_;
  std::int64_t threshold_;
};

}  // namespace orrery::accelerator
