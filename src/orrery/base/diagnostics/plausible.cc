// The ranges are those of accelerators and networks from 2016 to 2026, on either side widened by a factor of two to ten
// for what is planned or small. A value in a unit that is wrong by 1000 falls outside of most. Cost: constant.
#include "orrery/base/diagnostics/plausible.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace orrery::base {
namespace {

struct Range {
  double least, most;  // outside of these there is a warning; in base units
  double unit;         // of what is shown
  const char* unit_name;
  double usual_least, usual_most;  // in that unit
  const char* of;
};

// In the order of HardwareFigure.
constexpr std::array kRanges = std::to_array<Range>({
    {5e12, 5e16, 1e12, "TFLOP/s", 10, 10'000, "matrix peaks of accelerators"},
    {1e12, 1e15, 1e12, "TFLOP/s", 5, 200, "peaks of accelerators in fp32"},
    {1e9, 4e12, 1e9, "GB", 8, 1'000, "memories of accelerators"},
    {2e10, 1e14, 1e9, "GB/s", 100, 20'000, "bandwidths of accelerators' memory"},
    {64e3, 200e9, 1e6, "MB", 1, 1'000, "on-chip memories of accelerators"},
    {1e8, 1e13, 1e9, "GB/s", 1, 2'000, "bandwidths of an accelerator's links"},
    {1e-9, 2e-3, 1e-6, "us", 0.05, 200, "latencies"},
    {1e-7, 60, 1e-3, "ms", 0.1, 1'000, "fixed times of an iteration"},
    {1e7, 2e10, 1e9, "GHz", 0.1, 5, "clocks"},
    {1, 2e4, 1, "W", 10, 2'000, "powers of accelerators"},
    {0.01, 500, 1, "USD/h", 0.2, 20, "prices of accelerators"},
});

std::string shown(double value, const Range& range) {
  return fmt::format("{:.4g} {}", value / range.unit, range.unit_name);
}

}  // namespace

void doubt(HardwareFigure figure, double value, const std::string& name, Location where, Diagnostics& found) {
  const Range& range = kRanges[static_cast<std::size_t>(figure)];
  if (value == 0 || (value >= range.least && value <= range.most)) return;
  Diagnostic& warning = found.warning("O1380", fmt::format("`{}` is {}", name, shown(value, range)), std::move(where));
  warning.label(value < range.least ? "very few are so small" : "very few are so large");
  warning.note(fmt::format("usual {} are {} to {} {}", range.of, range.usual_least, range.usual_most, range.unit_name));
  for (const double factor : {1e3, 1e6, 1e9, 1e12}) {
    const double meant = value < range.least ? value * factor : value / factor;
    if (meant < range.usual_least * range.unit || meant > range.usual_most * range.unit) continue;
    warning.hint(fmt::format("is it {}, {} times as {}?", shown(meant, range),
                             factor == 1e3   ? "1000"
                             : factor == 1e6 ? "a million"
                             : factor == 1e9 ? "1e9"
                                             : "1e12",
                             value < range.least ? "much" : "little"));
    break;
  }
}

}  // namespace orrery::base
