#include "orrery/engines/accelerator/units/prediction_array.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::accelerator {

PredictionArray::PredictionArray(const PredictionShape& shape) : shape_(shape), unit_(shape.format) {
  ORRERY_CHECK(shape.width > 0 && shape.height > 0 && shape.sum_bits > 0 && shape.sum_bits <= 32 && shape.append >= 0,
               "an array with PEs, whose sums have 1 to 32 bits");
  const auto pes = static_cast<std::size_t>(shape.width) * static_cast<std::size_t>(shape.height);
  vertical_.resize(pes), horizontal_.resize(pes), sums_.resize(pes);
  exponentials_.resize(static_cast<std::size_t>(shape.height)), totals_ = exponentials_;
}

void PredictionArray::step(Pe pe, Sum sum, const std::vector<std::uint8_t>& left,
                           const std::vector<std::uint8_t>& top) {
  const auto width = static_cast<std::size_t>(shape_.width), height = static_cast<std::size_t>(shape_.height);
  for (std::size_t r = 0; r < height; ++r) {
    if (sum == Sum::kClear) totals_[r] = 0;
    if (sum == Sum::kAdd) totals_[r] = shape_.format.wrapped(totals_[r] + exponentials_[r]);
    exponentials_[r] = unit_(static_cast<std::int64_t>(sums_[(r + 1) * width - 1]) << shape_.append);
  }
  const std::uint32_t mask =
      shape_.sum_bits == 32 ? UINT32_MAX : (std::uint32_t{1} << static_cast<unsigned>(shape_.sum_bits)) - 1;
  switch (pe) {
    case Pe::kIdle:
      return;
    case Pe::kClear:
      std::fill(vertical_.begin(), vertical_.end(), std::uint8_t{0});
      std::fill(horizontal_.begin(), horizontal_.end(), std::uint8_t{0});
      std::fill(sums_.begin(), sums_.end(), 0U);
      return;
    case Pe::kMove:
      for (std::size_t r = 0; r < height; ++r) {
        std::copy_backward(sums_.begin() + static_cast<std::ptrdiff_t>(r * width),
                           sums_.begin() + static_cast<std::ptrdiff_t>((r + 1) * width - 1),
                           sums_.begin() + static_cast<std::ptrdiff_t>((r + 1) * width));
        sums_[r * width] = 0;
      }
      return;
    case Pe::kCalculate:
      for (std::size_t i = 0; i < sums_.size(); ++i)
        sums_[i] = (sums_[i] + std::uint32_t{vertical_[i]} * horizontal_[i]) & mask;
      // Registers pass on what they had: keys from the last row up, queries from the last column on.
      std::copy_backward(vertical_.begin(), vertical_.end() - static_cast<std::ptrdiff_t>(width), vertical_.end());
      std::copy(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(width), vertical_.begin());
      for (std::size_t r = 0; r < height; ++r) {
        std::uint8_t* const row = horizontal_.data() + r * width;
        std::copy_backward(row, row + width - 1, row + width);
        row[0] = left[r];
      }
  }
}

}  // namespace orrery::accelerator
