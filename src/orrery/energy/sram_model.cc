// The table and its surface as a model of SRAMs, with the error to expect.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/energy/sram.h"
#include "orrery/energy/sram_text.h"

namespace orrery::energy {
namespace {

// Mean absolute error at points between rows, in percent, by capacity. sram_surface_test.cc measures them anew.
struct ErrorClass {
  base::Count most_bytes;
  SramFigures percent;  // read, write, leakage, area; access time is no figure of ours
};
constexpr base::Count kKi = 1024, kMi = 1024 * 1024;
constexpr std::array<ErrorClass, 5> kErrors{{
    {4 * kKi, {1.2, 0.6, 1.9, 1.8, 0}},
    {32 * kKi, {1.9, 1.2, 1.3, 1.5, 0}},
    {128 * kKi, {2.8, 2.2, 1.1, 1.9, 0}},
    {2 * kMi, {1.7, 1.6, 1.1, 1.9, 0}},
    {1024 * kMi, {1.8, 2.1, 1.2, 2.2, 0}},
}};
// By straight lines alone (two ports): from the error of the same on one port.
constexpr SramFigures kGridErrors{6, 5, 3, 5, 0};

// What memories side by side have been off, against CACTI on the whole word.
constexpr double kSideBySidePercent = 10;

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
  return {
      fmt::format("has figures of {} to {}, {} to {} bit wide, 1 to 32 banks with one port or 1 bank with two; "
                  "this needs {}",
                  bytes_text(surface.least_bytes()), bytes_text(surface.most_bytes()), surface.least_bits(),
                  surface.most_bits(), text(point))};
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

        // A word too wide for the table is spread over memories side by side that all work at each access.
        const int parts = (whole.width_bits + surface->most_bits() - 1) / surface->most_bits();
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
            answer.expected_error_percent[figure] += kSideBySidePercent;
          }
          answer.basis = Basis::kAssumed;
          answer.how =
              fmt::format("{} memories of {} bit assumed side by side, each {}", parts, point.width_bits, answer.how);
        }
        return answer;
      };
}

}  // namespace orrery::energy
