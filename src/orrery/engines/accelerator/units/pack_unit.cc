#include "orrery/engines/accelerator/units/pack_unit.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::accelerator {

PackUnit::PackUnit(const PackShape& shape)
    : shape_(shape), mask_(static_cast<std::size_t>(shape.height), shape.none), counts_(mask_.size()) {
  ORRERY_CHECK(shape.height > 0 && shape.pes > 0 && shape.number_bits > 0 && shape.number_bits <= 31,
               "a pack unit with rows and PEs");
}

bool PackUnit::full(const std::vector<std::uint8_t>& column) const {
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (column[i] != 0 && counts_[i] == static_cast<std::uint32_t>(shape_.pes)) return true;
  return false;
}

void PackUnit::step(Command command, const std::vector<std::uint8_t>& column) {
  if (command == Command::kIdle) return;
  if (command == Command::kClear) {
    std::fill(counts_.begin(), counts_.end(), 0U);
    number_ = 0, write_ = false;
    return;
  }
  const bool closes = full(column);
  write_ = std::any_of(column.begin(), column.begin() + shape_.height, [](std::uint8_t bit) { return bit != 0; });
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (write_) mask_[i] = column[i] != 0 ? number_ : shape_.none;
    counts_[i] = closes ? 0 : counts_[i] + (column[i] != 0 ? 1 : 0);
  }
  number_ = closes ? 0 : (number_ + 1) & ((std::uint32_t{1} << static_cast<unsigned>(shape_.number_bits)) - 1);
}

}  // namespace orrery::accelerator
