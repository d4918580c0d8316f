#include "orrery/engines/accelerator/units/block_run.h"

namespace orrery::accelerator {
namespace {

SparseShape array_shape(const Instance& instance) {
  const masks::PackArray& a = instance.array;
  return {instance.numbers.sum, static_cast<int>(a.pes), static_cast<int>(a.ports), static_cast<int>(a.rows)};
}

}  // namespace

BlockRun::BlockRun(const Instance& instance)
    : instance_(instance),
      array_(array_shape(instance), instance.exponential),
      left_(static_cast<std::size_t>(instance.array.rows)),
      top_(static_cast<std::size_t>(instance.array.ports)) {}

void BlockRun::begin(const BlockOperands& block, BlockOutputs& into) {
  block_ = &block, into_ = &into;
  timing_ = timing(instance_, block.depth);
  busy_ = true, cycle_ = 0;
  const auto rows = static_cast<std::size_t>(instance_.array.rows);
  into.queries = block.query_numbers;
  into.most.assign(rows, 0), into.sum.assign(rows, 0);
  into.elements.assign(rows * static_cast<std::size_t>(block.depth), 0);
}

void BlockRun::feed(const std::vector<std::int32_t>& from, Count count, int point, Count cycle,
                    std::vector<std::int64_t>& into) {
  for (Count i = 0; i < count; ++i) {
    const Count element = cycle - i;
    const bool there = element >= 0 && element < block_->depth;
    into[static_cast<std::size_t>(i)] = there
                                            ? std::int64_t{from[static_cast<std::size_t>(i * block_->depth + element)]}
                                                  << (instance_.numbers.sum.point - point)
                                            : 0;
  }
}

// What the chains show after `cycle` of the values.
void BlockRun::take_outputs(Count cycle) {
  for (Count r = 0; r < instance_.array.rows; ++r) {
    const Count n = cycle - r - instance_.array.ports;
    if (n >= 0 && n < block_->depth)
      into_->elements[static_cast<std::size_t>(r * block_->depth + n)] =
          array_.output(static_cast<int>(r), block_->values);
  }
}

void BlockRun::step() {
  using Sums = SparseArray::Sums;
  using Exp = SparseArray::Exponentials;
  const Numbers& n = instance_.numbers;
  const BlockOperands& b = *block_;
  const Count maximum = 1 + timing_.scores, values = maximum + 2, drain = values + timing_.values;
  if (cycle_ == 0) {
    array_.step(Sums::kClear, Exp::kIdle, true, b.scores, nullptr, nullptr);
  } else if (cycle_ < maximum) {
    feed(b.queries, instance_.array.rows, b.query_point, cycle_ - 1, left_);
    feed(b.keys, instance_.array.ports, n.key.point, cycle_ - 1, top_);
    array_.step(Sums::kOwn, Exp::kIdle, false, b.scores, left_.data(), top_.data());
  } else if (cycle_ < values) {
    array_.step(Sums::kIdle, cycle_ == maximum ? Exp::kMost : Exp::kTakeBelow, false, b.scores, nullptr, nullptr);
  } else {
    if (cycle_ > values && cycle_ <= drain) take_outputs(cycle_ - values - 1);
    if (cycle_ < drain) {
      feed(b.value_rows, instance_.array.ports, n.value.point, cycle_ - values, top_);
      array_.step(Sums::kChain, Exp::kIdle, false, b.values, nullptr, top_.data());
    } else {
      array_.step(Sums::kIdle, Exp::kMove, false, b.values, nullptr, nullptr);
    }
  }
  if (++cycle_ < timing_.block()) return;
  busy_ = false;
  for (Count r = 0; r < instance_.array.rows; ++r) {
    into_->most[static_cast<std::size_t>(r)] = array_.maximum(static_cast<int>(r));
    into_->sum[static_cast<std::size_t>(r)] = array_.sum(static_cast<int>(r));
  }
}

}  // namespace orrery::accelerator
