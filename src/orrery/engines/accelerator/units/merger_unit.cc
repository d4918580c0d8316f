#include "orrery/engines/accelerator/units/merger_unit.h"

namespace orrery::accelerator {

MergerUnit::MergerUnit(const Instance& instance, Count queries)
    : arithmetic_(instance),
      lanes_(instance.merge_lanes),
      rows_(instance.array.rows),
      most_(static_cast<std::size_t>(queries), arithmetic_.least()),
      sum_(static_cast<std::size_t>(queries)),
      elements_(static_cast<std::size_t>(queries * instance.depth)),
      divider_(kReciprocalBits) {}

void MergerUnit::merge(const BlockOutputs& block, Count depth) {
  block_ = &block;
  busy_ = true, cycle_ = 0;
  depth_ = depth, chunks_ = base::ceil_divide(depth, lanes_);
}

void MergerUnit::normalise(Count queries, Count depth) {
  block_ = nullptr;
  busy_ = true, cycle_ = 0;
  depth_ = depth, chunks_ = base::ceil_divide(depth, lanes_), queries_ = queries;
  outputs_.assign(static_cast<std::size_t>(queries * depth), 0);
}

void MergerUnit::weigh(Count row) {
  const std::int32_t query = block_->queries[static_cast<std::size_t>(row)];
  const std::int64_t most = block_->most[static_cast<std::size_t>(row)];
  if (query < 0 || most == arithmetic_.least()) return;
  const auto at = static_cast<std::size_t>(query);
  weights_ = arithmetic_.weights(most_[at], most);
  most_[at] = weights_.most;
  sum_[at] = arithmetic_.merged(weights_, sum_[at], block_->sum[static_cast<std::size_t>(row)]);
}

void MergerUnit::step_merge() {
  if (cycle_ > 0) {
    const Count row = (cycle_ - 1) / chunks_, chunk = (cycle_ - 1) % chunks_;
    const std::int32_t query = block_->queries[static_cast<std::size_t>(row)];
    if (query >= 0 && block_->most[static_cast<std::size_t>(row)] != arithmetic_.least()) {
      for (Count i = chunk * lanes_; i < std::min(depth_, (chunk + 1) * lanes_); ++i) {
        std::int64_t& element = elements_[static_cast<std::size_t>(query * depth_ + i)];
        element = arithmetic_.merged(weights_, element, block_->elements[static_cast<std::size_t>(row * depth_ + i)]);
      }
    }
    if (chunk + 1 == chunks_ && row + 1 < rows_) weigh(row + 1);
  } else {
    weigh(0);
  }
  if (++cycle_ == 1 + rows_ * chunks_) busy_ = false;
}

void MergerUnit::step_normalise() {
  const Count out = cycle_ - kReciprocalBits;
  if (out >= 0) {
    const Count query = out / chunks_, chunk = out % chunks_;
    for (Count i = chunk * lanes_; i < std::min(depth_, (chunk + 1) * lanes_); ++i) {
      std::int64_t& element = elements_[static_cast<std::size_t>(query * depth_ + i)];
      outputs_[static_cast<std::size_t>(query * depth_ + i)] =
          static_cast<std::int32_t>(arithmetic_.normalised(element, reciprocal_, saturated_));
      element = 0;
    }
  }
  const Count query = cycle_ / chunks_;
  const bool enters = cycle_ % chunks_ == 0 && query < queries_;
  const auto at = static_cast<std::size_t>(enters ? query : 0);
  const Divider::Result quotient =
      divider_.step(enters, arithmetic_.dividend(), enters ? static_cast<std::uint64_t>(sum_[at]) : 0);
  if (enters) most_[at] = arithmetic_.least(), sum_[at] = 0;
  // A divisor of 0 gives all ones, which a quotient of a sum of at least 1 never is.
  constexpr std::uint64_t kByZero = (std::uint64_t{1} << kReciprocalBits) - 1;
  if (quotient.there) reciprocal_ = quotient.value == kByZero ? 0 : static_cast<std::int64_t>(quotient.value);
  if (++cycle_ == queries_ * chunks_ + kReciprocalBits) busy_ = false;
}

void MergerUnit::step() {
  block_ != nullptr ? step_merge() : step_normalise();
}

}  // namespace orrery::accelerator
