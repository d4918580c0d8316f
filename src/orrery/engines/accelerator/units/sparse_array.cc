#include "orrery/engines/accelerator/units/sparse_array.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::accelerator {

SparseArray::SparseArray(const SparseShape& shape, const ExpShape& exponential)
    : shape_(shape), unit_(shape.format), below_(shape.format, exponential) {
  ORRERY_CHECK(
      shape.pes > 0 && shape.rows > 0 && shape.ports >= shape.pes && shape.ports < (1 << 15) && shape.format.bits <= 32,
      "an array with PEs, at least as many ports as PEs in a row, and at most 32 bits");
  const auto pes = static_cast<std::size_t>(shape.pes) * static_cast<std::size_t>(shape.rows);
  chain_ = static_cast<std::size_t>(shape.ports - shape.pes);
  queries_.resize(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.ports));
  keys_ = queries_;
  accumulators_.resize(pes), exponentials_.resize(pes), chains_.resize(pes * chain_);
  totals_.resize(static_cast<std::size_t>(shape.rows));
  maxima_ = totals_;
}

// What a PE sends to the right: its accumulator, or what that was `delay` chained cycles ago.
std::int64_t SparseArray::sent(std::size_t pe, std::size_t delay) const {
  if (delay == 0) return accumulators_[pe];
  const std::size_t at = chain_head_ + delay - 1;
  return chains_[pe * chain_ + (at < chain_ ? at : at - chain_)];
}

std::int64_t SparseArray::output(int row, const Words& words) const {
  const std::size_t last = place(row, shape_.pes - 1);
  return sent(last, words.delay[last]);
}

// The row's maximum, or the exponentials of what lies below it.
void SparseArray::take_below(std::size_t row, bool maximum, const Words& words) {
  const auto ports = static_cast<std::size_t>(shape_.ports), pes = static_cast<std::size_t>(shape_.pes);
  if (maximum) maxima_[row] = -(std::int64_t{1} << (shape_.format.bits - 1));
  for (std::size_t pe = row * pes; pe < (row + 1) * pes; ++pe) {
    const bool busy = words.a[pe] <= ports;
    if (maximum) {
      if (busy) maxima_[row] = std::max(maxima_[row], accumulators_[pe]);
    } else {
      exponentials_[pe] = busy ? below_(accumulators_[pe] - maxima_[row]) : 0;
    }
  }
}

void SparseArray::step(Sums sums, Exponentials exponentials, bool clear, const Words& words, const std::int64_t* left,
                       const std::int64_t* top) {
  const auto ports = static_cast<std::size_t>(shape_.ports), rows = static_cast<std::size_t>(shape_.rows),
             pes = static_cast<std::size_t>(shape_.pes);
  const std::size_t next_chain = chain_ == 0 ? 0 : (chain_head_ == 0 ? chain_ : chain_head_) - 1;
  const bool adds = sums == Sums::kOwn || sums == Sums::kChain;
  const bool below = exponentials == Exponentials::kMost || exponentials == Exponentials::kTakeBelow;
  for (std::size_t r = 0; r < rows; ++r) {
    if (below) take_below(r, exponentials == Exponentials::kMost, words);
    // The register that a query entered k cycles ago stands at head_ + k.
    const std::int64_t* const queries = queries_.data() + r * ports;
    const std::int64_t* const keys = keys_.data() + r * ports;
    const auto product = [&](std::size_t pe) {
      const std::size_t c1 = words.a[pe], c2 = words.b[pe];
      if (c2 >= ports || c1 > ports) return std::int64_t{0};
      const std::size_t at = head_ + c1;
      const std::int64_t a = c1 == ports ? exponentials_[pe] : queries[at < ports ? at : at - ports];
      return shape_.format.product(a, keys[c2]);
    };
    std::int64_t from_left = 0, score_from_left = 0;
    if (exponentials == Exponentials::kMove)
      totals_[r] = shape_.format.wrapped(totals_[r] + exponentials_[(r + 1) * pes - 1]);
    for (std::size_t j = 0; j < pes; ++j) {
      const std::size_t pe = r * pes + j;
      const std::int64_t c = adds ? product(pe) : 0, before = accumulators_[pe];
      switch (sums) {
        case Sums::kClear:
          accumulators_[pe] = 0;
          std::fill_n(chains_.begin() + static_cast<std::ptrdiff_t>(pe * chain_), chain_, 0);
          break;
        case Sums::kIdle:
          break;
        case Sums::kOwn:
          accumulators_[pe] = shape_.format.wrapped(before + c);
          break;
        case Sums::kChain: {
          const std::int64_t sends = sent(pe, words.delay[pe]);
          accumulators_[pe] = shape_.format.wrapped(from_left + c);
          if (chain_ > 0) chains_[pe * chain_ + next_chain] = before;
          from_left = sends;
        }
      }
      if (exponentials == Exponentials::kTake) {
        exponentials_[pe] = unit_(before);
      } else if (exponentials == Exponentials::kMove) {
        std::swap(score_from_left, exponentials_[pe]);
      }
    }
  }
  if (sums == Sums::kChain) chain_head_ = next_chain;
  if (clear) {
    std::fill(queries_.begin(), queries_.end(), 0);
    std::fill(keys_.begin(), keys_.end(), 0);
    std::fill(totals_.begin(), totals_.end(), 0);
    return;
  }
  head_ = (head_ == 0 ? ports : head_) - 1;
  for (std::size_t r = 0; r < rows; ++r) queries_[r * ports + head_] = left == nullptr ? 0 : left[r];
  std::copy_backward(keys_.begin(), keys_.end() - static_cast<std::ptrdiff_t>(ports), keys_.end());
  for (std::size_t m = 0; m < ports; ++m) keys_[m] = top == nullptr ? 0 : top[m];
}

}  // namespace orrery::accelerator
