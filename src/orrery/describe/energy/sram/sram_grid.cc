#include "orrery/describe/energy/sram/sram_grid.h"

#include <algorithm>
#include <cmath>

namespace orrery::energy {
namespace {

SramFigures between(const SramFigures& low, const SramFigures& high, double share) {
  SramFigures mixed;
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = low[i] * (1 - share) + high[i] * share;
  return mixed;
}

// The widths of the grid proper; lines of fewer points (memories of 64 words) hold too little to stand on.
constexpr std::size_t kFewestKnots = 5;

}  // namespace

SramGrid::SramGrid(const SramTable& table) {
  for (const SramRow& row : table.rows) {
    Knot knot{std::log(static_cast<double>(row.point.capacity_bytes)), {}};
    for (std::size_t i = 0; i < knot.logarithms.size(); ++i) knot.logarithms[i] = std::log(row.figures[i]);
    lines_[{row.point.banks, row.point.ports}][row.point.width_bits].push_back(knot);
  }
  for (auto& [key, widths] : lines_) {
    std::erase_if(widths, [](const auto& line) { return line.second.size() < kFewestKnots; });
    for (auto& [width, line] : widths)
      std::sort(line.begin(), line.end(), [](const Knot& a, const Knot& b) { return a.log_capacity < b.log_capacity; });
  }
}

std::optional<SramFigures> SramGrid::logarithms(const SramPoint& point) const {
  const auto group = lines_.find({point.banks, point.ports});
  if (group == lines_.end() || group->second.size() < 2) return std::nullopt;
  const auto& widths = group->second;

  const double x = std::log(static_cast<double>(point.capacity_bytes));
  const auto on_line = [x](const Line& line) {
    const auto above = std::upper_bound(line.begin(), line.end(), x,
                                        [](double value, const Knot& knot) { return value < knot.log_capacity; });
    const auto high = std::clamp(above, line.begin() + 1, line.end() - 1);
    const auto low = high - 1;
    return between(low->logarithms, high->logarithms,
                   (x - low->log_capacity) / (high->log_capacity - low->log_capacity));
  };
  auto high = widths.upper_bound(point.width_bits);
  if (high == widths.begin()) ++high;
  if (high == widths.end()) --high;
  const auto low = std::prev(high);
  const double share = std::log(double(point.width_bits) / low->first) / std::log(double(high->first) / low->first);
  return between(on_line(low->second), on_line(high->second), share);
}

}  // namespace orrery::energy
