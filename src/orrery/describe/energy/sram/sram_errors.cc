#include "orrery/describe/energy/sram/sram_errors.h"

#include <algorithm>
#include <cmath>

namespace orrery::energy {
namespace {

// Octaves from `low` to `high`, the first as whole.
double octaves(double low, double high) {
  return std::max(1.0, std::log2(high / low));
}

}  // namespace

const SramErrorRow* SramErrors::find(SramErrorKind kind, int technology_nm, int width_bits, base::Count capacity_bytes,
                                     int banks) const {
  const bool exact_width = kind == SramErrorKind::kNarrow;
  for (const SramErrorRow& row : rows_) {
    if (row.kind != kind || (row.technology_nm != 0 && row.technology_nm != technology_nm)) continue;
    if (row.width_bits != 0 && (exact_width ? width_bits != row.width_bits : width_bits > row.width_bits)) continue;
    if (row.capacity_bytes != 0 && capacity_bytes > row.capacity_bytes) continue;
    if (row.banks != 0 && banks > row.banks) continue;
    return &row;
  }
  return nullptr;
}

std::optional<SramFigures> SramErrors::expected_percent(const SramDescription& memory, const SramRequest& asked,
                                                        const std::vector<SramSourceOfFigures>& from) const {
  const SramPoint& point = asked.point;
  SramFigures largest{}, sum{};
  bool known = true;
  const auto at_least = [&](const SramErrorRow* row, double factor = 1) {
    known = known && row;
    for (std::size_t i = 0; row && i < largest.size(); ++i) largest[i] = std::max(largest[i], factor * row->percent[i]);
  };
  const auto add = [&](SramErrorKind kind, double factor) {
    const SramErrorRow* row = find(kind, 0, 0, 0, 0);
    known = known && row;
    for (std::size_t i = 0; row && i < sum.size(); ++i) sum[i] += factor * row->percent[i];
  };

  at_least(find(SramErrorKind::kPrinted, 0, 0, 0, 0));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int technology = asked.technologies[i].technology_nm;
    if (from[i].parts > 1) {
      at_least(find(SramErrorKind::kBeside, technology, point.width_bits, point.capacity_bytes, point.banks));
    } else if (from[i].origin == SramOrigin::kOrganisation) {
      at_least(find(SramErrorKind::kRows, technology, point.width_bits, point.capacity_bytes, point.banks));
      at_least(find(SramErrorKind::kNode, technology, 0, 0, 0));
      for (std::size_t f = 0; f < largest.size(); ++f) largest[f] = std::max(largest[f], from[i].contested_percent[f]);
    } else if (from[i].origin == SramOrigin::kGrid) {
      at_least(find(SramErrorKind::kPorts, technology, 0, 0, 0));
    }
  }
  if (asked.technologies.size() > 1)
    at_least(find(SramErrorKind::kMixed, asked.technologies.front().technology_nm, 0, 0, 0));
  if (memory.width_bits < kSramLeastBits) {
    const int width = std::max(8, 8 * static_cast<int>(memory.width_bits / 8));
    const auto capacity = static_cast<base::Count>(static_cast<double>(point.capacity_bytes) * width / kSramLeastBits);
    const double farther = std::log2(kSramLeastBits / std::min<double>(memory.width_bits, width)) /
                           std::log2(static_cast<double>(kSramLeastBits) / width);
    at_least(find(SramErrorKind::kNarrow, 0, width, capacity, point.banks), farther);
  }
  const double least_words = kSramLeastWords * memory.banks;
  if (memory.depth < least_words) add(SramErrorKind::kShallow, octaves(memory.depth, least_words));
  const int low = asked.technologies.front().technology_nm, high = asked.technologies.back().technology_nm;
  if (memory.technology_nm < low) add(SramErrorKind::kBelow, octaves(memory.technology_nm, low));
  if (memory.technology_nm > high) add(SramErrorKind::kAbove, octaves(high, memory.technology_nm));
  if (memory.banks != point.banks) add(SramErrorKind::kBanks, 1);

  if (!known) return std::nullopt;
  for (std::size_t i = 0; i < largest.size(); ++i) largest[i] += sum[i];
  return largest;
}

}  // namespace orrery::energy
