#include "orrery/engines/accelerator/units/quantiser_unit.h"

#include <algorithm>

namespace orrery::accelerator {

QuantiserUnit::QuantiserUnit(const QuantiserConstants& constants, Count lanes)
    : constants_(constants), lanes_(lanes), root_(constants.norm_bits), divider_(kQuotientBits) {}

void QuantiserUnit::begin(const std::int32_t* rows, Count count, Count depth) {
  *this = QuantiserUnit(constants_, lanes_);
  rows_ = rows, count_ = count, depth_ = depth;
  chunks_ = base::ceil_divide(depth, lanes_);
  codes_.assign(static_cast<std::size_t>(count * depth), 0);
  factors_.assign(static_cast<std::size_t>(count), 0);
  tail_ = constants_.norm_bits + kQuotientBits + 1 + chunks_;
  busy_ = true;
}

void QuantiserUnit::take_codes() {
  const auto row = static_cast<std::size_t>(coded_row_);
  if (coded_chunk_ == 0) factors_[row] = scale_.factor;
  const Count first = coded_chunk_ * lanes_, last = std::min(depth_, first + lanes_);
  for (Count i = coded_row_ * depth_ + first; i < coded_row_ * depth_ + last; ++i)
    codes_[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(code_of(constants_, scale_, rows_[i], clipped_));
  if (++coded_chunk_ == chunks_) coded_row_ = -1;
}

// Stages from the last to the first, so that each sees what the one before it had at the cycle's beginning.
void QuantiserUnit::step() {
  if (coded_row_ >= 0) take_codes();
  // Divide; what it ends with is the scale of the codes from the next cycle on.
  const Lead lead = lead_;
  const Divider::Result quotient =
      divider_.step(lead.there, constants_.reciprocal << (constants_.norm_bits - 1), lead.shifted);
  if (lead.there) dividing_.push_back(lead);
  if (quotient.there) {
    const Lead& of = dividing_.front();
    scale_ = {of.norm == 0 ? 0 : quotient.value, code_shift(constants_, of.zeros), factor_of(constants_, of.norm)};
    dividing_.pop_front();
    coded_row_ = next_row_++, coded_chunk_ = 0;
  }
  // Lead.
  lead_ = {};
  if (rooted_.there) {
    const std::uint64_t norm =
        constants_.normalise ? rooted_.value : std::uint64_t{1} << (constants_.point + kNormExtra);
    const int zeros = leading_zeros(constants_, norm);
    lead_ = {true, norm, norm << zeros, zeros};
  }
  // Root.
  rooted_ = root_.step(summed_, squares_ << (2 * kNormExtra));
  // Squares.
  summed_ = false;
  const Count row = chunks_ == 0 ? count_ : cycle_ / chunks_, chunk = chunks_ == 0 ? 0 : cycle_ % chunks_;
  if (row < count_) {
    if (chunk == 0) squares_ = 0;
    for (Count i = chunk * lanes_; i < std::min(depth_, (chunk + 1) * lanes_); ++i) {
      const std::int64_t x = rows_[row * depth_ + i];
      squares_ += static_cast<std::uint64_t>(x * x);
    }
    summed_ = chunk + 1 == chunks_;
  }
  if (++cycle_ == count_ * chunks_ + tail_) busy_ = false;
}

}  // namespace orrery::accelerator
