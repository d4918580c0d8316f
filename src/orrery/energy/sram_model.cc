// The table and its surface as a model of SRAMs, with the error to expect.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/energy/sram.h"
#include "orrery/energy/sram_text.h"

namespace orrery::energy {
namespace {

// Mean absolute error at points between rows, in percent, by capacity; beyond 16 MiB none was measured and the last
// is taken. formats/cacti/sram_accuracy_test.cc measures them anew.
struct ErrorClass {
  base::Count most_bytes;
  SramFigures percent;  // read, write, leakage, area; access time is no figure of ours
};
constexpr base::Count kKi = 1024, kMi = 1024 * 1024;
constexpr std::array<ErrorClass, 5> kErrors{{
    {4 * kKi, {1.5, 0.9, 1.8, 2.1, 0}},
    {32 * kKi, {1.1, 0.7, 1.1, 0.8, 0}},
    {128 * kKi, {1.1, 0.8, 0.6, 0.9, 0}},
    {2 * kMi, {1.6, 1.4, 0.8, 1.9, 0}},
    {1024 * kMi, {1.7, 2.1, 1.2, 2.5, 0}},
}};
// By straight lines alone: measured with two ports.
constexpr SramFigures kGridErrors{7.4, 6.8, 1.9, 4.1, 0};

// Memories of 512 bit in the place of one of 640 to 2048 bit are that far off: CACTI cuts the whole otherwise.
constexpr SramFigures kSideBySidePercent{40, 38, 9, 27, 0};

std::string how(const SramEstimate& estimate) {
  switch (estimate.origin) {
    case SramOrigin::kTable:
      return "a row of the table";
    case SramOrigin::kOrganisation:
      return fmt::format("between rows of the table with {} x {} subarrays", estimate.organisation.ndbl,
                         estimate.organisation.ndwl);
    case SramOrigin::kGrid:
      return "between rows of the table";
  }
  return {};
}

Refusal outside(const SramSurface& surface, const SramPoint& point) {
  const SramRange* range = surface.range(point.banks, point.ports);
  if (!range)
    return {fmt::format("has figures of 1, 2, 4 up to 32 banks with one port and of 1 bank with two; this needs {}",
                        text(point))};
  return {fmt::format("has figures of {} to {}, {} to {} bit wide; this needs {}", bytes_text(range->least_bytes),
                      bytes_text(range->most_bytes), range->least_bits, range->most_bits, text(point))};
}

}  // namespace

SramFigures expected_error_percent(base::Count capacity_bytes, SramOrigin origin) {
  if (origin == SramOrigin::kTable) return {};
  if (origin == SramOrigin::kGrid) return kGridErrors;
  const auto found = std::find_if(kErrors.begin(), kErrors.end(),
                                  [=](const ErrorClass& one) { return capacity_bytes <= one.most_bytes; });
  return found == kErrors.end() ? kErrors.back().percent : found->percent;
}

SramModel surface_model(SramSurfaces surfaces) {
  return
      [surfaces = std::move(surfaces)](int technology_nm, const SramPoint& whole) -> std::variant<SramAnswer, Refusal> {
        const auto surface = surfaces(technology_nm);
        if (!surface) return Refusal{fmt::format("its table has no figures of {} nm", technology_nm)};

        const SramRange* range = surface->range(whole.banks, whole.ports);
        if (!range) return outside(*surface, whole);
        // A word too wide for the table is spread over memories side by side that all work at each access.
        const int parts = (whole.width_bits + range->most_bits - 1) / range->most_bits;
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
        answer.expected_error_percent = expected_error_percent(point.capacity_bytes, estimate->origin);
        answer.basis = estimate->origin == SramOrigin::kTable ? Basis::kModelled : Basis::kInterpolated;
        answer.how = how(*estimate);
        if (parts > 1) {
          for (const SramFigure figure : {kRead, kWrite, kLeak, kArea}) {
            answer.figures[figure] *= copies;
            answer.expected_error_percent[figure] += kSideBySidePercent[figure];
          }
          answer.basis = Basis::kAssumed;
          answer.how =
              fmt::format("{} memories of {} bit assumed side by side, each {}", parts, point.width_bits, answer.how);
        }
        return answer;
      };
}

}  // namespace orrery::energy
