#include "orrery/engines/accelerator/units/packer_unit.h"

#include <algorithm>
#include <bit>

namespace orrery::accelerator {
namespace {

PackShape unit_shape(const masks::PackArray& array) {
  PackShape shape;
  shape.height = static_cast<int>(array.rows), shape.pes = static_cast<int>(array.pes);
  shape.number_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(array.ports)));
  shape.none = static_cast<std::uint32_t>(array.ports);
  return shape;
}

}  // namespace

PackerUnit::PackerUnit(const masks::PackArray& array) : array_(array), unit_(unit_shape(array)) {
  begin();
}

void PackerUnit::begin() {
  unit_.step(PackUnit::Command::kClear, {});
  open_ = {};
  open_.counts.assign(static_cast<std::size_t>(array_.rows), 0);
}

void PackerUnit::close() {
  closed_ = std::move(open_);
  open_ = {};
  open_.counts.assign(static_cast<std::size_t>(array_.rows), 0);
}

bool PackerUnit::step(std::int32_t key, const std::vector<std::uint8_t>& column) {
  ++open_.cycles;
  if (std::none_of(column.begin(), column.end(), [](std::uint8_t bit) { return bit != 0; })) {
    unit_.step(PackUnit::Command::kIdle, column);
    return true;
  }
  const bool full = unit_.full(column);
  if (full || static_cast<Count>(open_.keys.size()) == array_.ports) {
    unit_.step(full ? PackUnit::Command::kRead : PackUnit::Command::kClear, column);
    close();
    return false;
  }
  unit_.step(PackUnit::Command::kRead, column);
  open_.keys.push_back(key);
  for (std::size_t r = 0; r < open_.counts.size(); ++r) {
    const bool there = unit_.mask()[r] != static_cast<std::uint32_t>(array_.ports);
    open_.bits.push_back(there ? 1 : 0);
    open_.counts[r] += there ? 1 : 0;
  }
  return true;
}

bool PackerUnit::end() {
  ++open_.cycles;
  unit_.step(PackUnit::Command::kClear, {});
  const bool any = !open_.keys.empty();
  close();
  return any;
}

}  // namespace orrery::accelerator
