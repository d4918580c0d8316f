#include "orrery/engines/accelerator/units/predictor_unit.h"

namespace orrery::accelerator {
namespace {

PredictionShape array_shape_of_predictor_unit(const Instance& instance) {
  PredictionShape shape;
  shape.sum_bits = widths(instance).code_sum;
  shape.width = static_cast<int>(instance.prediction_width), shape.height = static_cast<int>(instance.array.rows);
  return shape;
}

}  // namespace

PredictorUnit::PredictorUnit(const Instance& instance, const PredictionConstants& constants)
    : instance_(instance),
      rows_(instance.array.rows),
      width_(instance.prediction_width),
      unit_(instance, constants),
      array_(array_shape_of_predictor_unit(instance)),
      left_(static_cast<std::size_t>(rows_)),
      top_(static_cast<std::size_t>(width_)) {}

void PredictorUnit::begin(const PredictedTile& tile) {
  tile_ = tile;
  busy_ = true;
  pass_ = cycle_ = 0, passes_ = base::ceil_divide(tile.keys, width_);
  row_sums_.assign(static_cast<std::size_t>(rows_), 0);
  rescaled_.assign(static_cast<std::size_t>(rows_), 0);
  statistics_.assign(static_cast<std::size_t>(rows_), unit_.cleared());
  thresholds_.assign(static_cast<std::size_t>(rows_), 0);
  scores_.assign(static_cast<std::size_t>(rows_ * tile.keys), 0);
  rescaled_key_ = -1;
}

// Codes of row r enter r cycles late, those of column c c cycles late; their sums are formed as they enter.
void PredictorUnit::feed(Count cycle) {
  const int offset = 1 << (instance_.code_bits - 1);
  for (Count r = 0; r < rows_; ++r) {
    const Count i = cycle - r;
    const bool there = r < tile_.rows && i >= 0 && i < tile_.depth;
    left_[static_cast<std::size_t>(r)] =
        there ? static_cast<std::uint8_t>(tile_.query_codes[r * tile_.depth + i] + offset) : std::uint8_t{0};
    row_sums_[static_cast<std::size_t>(r)] += left_[static_cast<std::size_t>(r)];
  }
  for (Count c = 0; c < width_; ++c) {
    const Count i = cycle - c, key = pass_ * width_ + c;
    const bool there = key < tile_.keys && i >= 0 && i < tile_.depth;
    top_[static_cast<std::size_t>(c)] =
        there ? static_cast<std::uint8_t>(tile_.key_codes[key * tile_.depth + i] + offset) : std::uint8_t{0};
    key_sums_[static_cast<std::size_t>(c)] += top_[static_cast<std::size_t>(c)];
  }
}

void PredictorUnit::rescale(Count column) {
  rescaled_key_ = pass_ * width_ + column;
  if (rescaled_key_ >= tile_.keys) {
    rescaled_key_ = -1;
    return;
  }
  for (Count r = 0; r < tile_.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const std::int64_t sum = signed_sum(array_.score(static_cast<int>(r), static_cast<int>(width_ - 1)), row_sums_[row],
                                        key_sums_[static_cast<std::size_t>(column)], tile_.depth, instance_.code_bits);
    rescaled_[row] = unit_.rescaled(sum, tile_.query_factors[r], tile_.key_factors[rescaled_key_], saturated_);
  }
}

void PredictorUnit::take() {
  if (rescaled_key_ < 0) return;
  for (Count r = 0; r < tile_.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    scores_[static_cast<std::size_t>(rescaled_key_ * rows_ + r)] = rescaled_[row];
    if (tile_.valid(r, rescaled_key_)) unit_.add(statistics_[row], rescaled_[row]);
  }
  rescaled_key_ = -1;
}

void PredictorUnit::step() {
  using Pe = PredictionArray::Pe;
  using Sum = PredictionArray::Sum;
  const Count calculate = tile_.depth + width_ + rows_ - 1;
  take();
  if (pass_ < passes_) {
    if (cycle_ == 0) {
      array_.step(Pe::kClear, Sum::kIdle, left_, top_);
      std::fill(row_sums_.begin(), row_sums_.end(), 0);
      key_sums_.assign(static_cast<std::size_t>(width_), 0);
    } else if (cycle_ <= calculate) {
      feed(cycle_ - 1);
      array_.step(Pe::kCalculate, Sum::kIdle, left_, top_);
    } else {
      rescale(width_ - 1 - (cycle_ - calculate - 1));
      array_.step(Pe::kMove, Sum::kIdle, left_, top_);
    }
    if (++cycle_ == 1 + calculate + width_) cycle_ = 0, ++pass_;
    return;
  }
  if (cycle_ > 0) {
    const auto row = static_cast<std::size_t>(cycle_ - 1);
    thresholds_[row] = unit_.threshold(statistics_[row]);
  }
  if (++cycle_ == 1 + rows_) busy_ = false;
}

}  // namespace orrery::accelerator
