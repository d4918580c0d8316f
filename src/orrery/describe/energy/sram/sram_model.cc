// The table and its surface as a model of SRAMs.
#include <fmt/format.h>

#include "orrery/describe/energy/sram/sram.h"
#include "orrery/describe/energy/sram/sram_text.h"

namespace orrery::energy {
namespace {

std::string how(const SramEstimate& estimate) {
  switch (estimate.origin) {
    case SramOrigin::kTable:
      return "a row of the table";
    case SramOrigin::kOrganisation:
      return fmt::format("between rows of the table with {} x {} subarrays{}", estimate.organisation.ndbl,
                         estimate.organisation.ndwl,
                         estimate.contested_percent == SramFigures{} ? "" : " (others cost nearly the same)");
    case SramOrigin::kGrid:
      return "between rows of the table";
  }
  return {};
}

constexpr const char* kWayOut =
    "let CACTI itself answer with `--cacti PATH`, describe several smaller memories, or give figures with `--tables`";

Refusal outside(const SramSurface& surface, const SramPoint& point) {
  const SramRange* range = surface.range(point.banks, point.ports);
  if (!range)
    return {fmt::format("has figures of 1, 2, 4 up to 32 banks with one port and of 1 bank with two; this needs {}",
                        text(point)),
            kWayOut};
  return {fmt::format("has figures of {} to {}, {} to {} bit wide; this needs {}", bytes_text(range->least_bytes),
                      bytes_text(range->most_bytes), range->least_bits, range->most_bits, text(point)),
          kWayOut};
}

Refusal too_wide(const SramRange& range, const SramPoint& point) {
  return {fmt::format("has words of {} to {} bit and takes up to {} memories side by side, {} bit; this needs {} bit",
                      range.least_bits, range.most_bits, kMostSideBySide, kMostSideBySide * range.most_bits,
                      point.width_bits),
          "describe a memory of so wide a word as several memories, or give its figures with `--tables`"};
}

}  // namespace

SramModel surface_model(SramSurfaces surfaces) {
  return
      [surfaces = std::move(surfaces)](int technology_nm, const SramPoint& whole) -> std::variant<SramAnswer, Refusal> {
        const auto surface = surfaces(technology_nm);
        if (!surface) return Refusal{fmt::format("its table has no figures of {} nm", technology_nm)};

        const SramRange* range = surface->range(whole.banks, whole.ports);
        if (!range) return outside(*surface, whole);
        // A word too wide for the table is spread over memories side by side that all work at each access.
        const int parts = (whole.width_bits + range->most_bits - 1) / range->most_bits;
        if (parts > kMostSideBySide) return too_wide(*range, whole);
        SramPoint point = whole;
        double copies = 1;
        if (parts > 1) {
          point.width_bits = (whole.width_bits / 8 + parts - 1) / parts * 8;
          const base::Count words = whole.capacity_bytes * 8 / whole.width_bits;
          point.capacity_bytes = words * point.width_bits / 8;
          copies = static_cast<double>(whole.width_bits) / point.width_bits;
        }
        const auto estimate = surface->at(point);
        if (!estimate) return outside(*surface, whole);

        SramAnswer answer;
        answer.figures = estimate->figures;
        answer.from = {estimate->origin, parts, estimate->contested_percent};
        answer.how = how(*estimate);
        if (parts > 1) {
          for (const SramFigure figure : {kRead, kWrite, kLeak, kArea}) answer.figures[figure] *= copies;
          answer.how =
              fmt::format("{} memories of {} bit assumed side by side, each {}", parts, point.width_bits, answer.how);
          answer.beyond =
              fmt::format("{} bit is above the {} bit of the widest word in the table, by a factor of {:.3g}",
                          whole.width_bits, range->most_bits, static_cast<double>(whole.width_bits) / range->most_bits);
        }
        return answer;
      };
}

}  // namespace orrery::energy
