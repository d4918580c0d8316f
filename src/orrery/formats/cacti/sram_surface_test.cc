// What the surface over the catalogue's table keeps to, wherever it is asked.
#include "orrery/describe/energy/sram/sram_surface.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <source_dir.h>

#include "orrery/describe/energy/sram/sram_organisation.h"
#include "orrery/formats/cacti/cacti_table.h"
#include "orrery/formats/cacti/sram_points_test_util.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

using base::Count;
using energy::SramPoint, energy::SramRow, energy::SramSurface, energy::kArea, energy::kLeak, energy::kRead,
    energy::kWrite;

constexpr Count kMi = 1 << 20;

const SramSurface& surface(int technology_nm) {
  return *catalogue_surfaces()(technology_nm);
}

int any_technology() {
  return *rc::gen::elementOf(kTechnologies);
}

// Words of a bank and banks, log-uniform, so that the memory fits 512 bit wide.
std::pair<Count, int> any_depth() {
  const int banks = 1 << *rc::gen::inRange(0, 6);
  const double most = std::log2(16.0 * kMi * 8 / 512 / banks);
  const double words = std::exp2(*rc::gen::inRange(500, static_cast<int>(most * 100)) / 100.0);
  return {std::max<Count>(32, static_cast<Count>(words)) * banks, banks};
}

SramPoint point(Count depth, int width, int banks) {
  return {depth * width / 8, width, banks, 1};
}

TEST(SramSurface, EveryRowOfTheTableIsItsOwnAnswer) {
  for (const int technology : kTechnologies) {
    for (const SramRow& row : surface(technology).table().rows) {
      const auto estimate = surface(technology).at(row.point);
      ASSERT_TRUE(estimate);
      ASSERT_EQ(estimate->origin, energy::SramOrigin::kTable);
      ASSERT_EQ(estimate->figures, row.figures);
    }
  }
}

TEST(SramSurface, TheOrganisationOfEveryRowComesOutEvenThere) {
  for (const int technology : kTechnologies) {
    for (const auto* rows : {&surface(technology).table().rows, &surface(technology).table().runners_up})
      for (const SramRow& row : *rows) {
        if (row.point.ports != 1) continue;
        ASSERT_TRUE(energy::subarray(row.organisation, row.point));
      }
  }
}

// Asked without its own row, the surface must not lead far away from it: of 100 rows, 95 within a fifth.
TEST(SramSurface, RowsThatAreLeftOutComeBack) {
  std::vector<double> errors;
  for (const SramRow& row : surface(32).table().rows) {
    if (row.point.ports != 1) continue;
    errors.push_back(std::fabs(surface(32).left_out(row.point)->figures[kRead] / row.figures[kRead] - 1));
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() * 95 / 100], 0.2);
  EXPECT_LT(errors[errors.size() / 2], 0.03);
}

RC_GTEST_PROP(SramSurface, FiguresStandBetweenThoseOfSmallerAndLargerMemories, ()) {
  const auto [depth, banks] = any_depth();
  const int width = 8 * *rc::gen::inRange(4, 65);
  const auto& here = surface(any_technology());
  const auto estimate = here.at(point(depth, width, banks));
  RC_PRE(estimate.has_value());
  double least = 1e300, most = 0;
  for (const SramRow& row : here.table().rows) {
    if (row.point.banks != banks || row.point.ports != 1) continue;
    const double words = std::log2(double(row.point.capacity_bytes) * 8 / row.point.width_bits / depth);
    const double wider = std::log2(double(row.point.width_bits) / width);
    if (std::fabs(words) > 1.1 || std::fabs(wider) > 1.1) continue;
    least = std::min(least, row.figures[kRead]);
    most = std::max(most, row.figures[kRead]);
  }
  RC_PRE(most > 0);
  RC_ASSERT(estimate->figures[kRead] >= least * 0.9);
  RC_ASSERT(estimate->figures[kRead] <= most * 1.1);
  for (const double figure : estimate->figures) RC_ASSERT(std::isfinite(figure) && figure > 0);
}

// Word by word, a wider memory costs more to read, unless CACTI cuts it differently: another organisation, or the
// same that wakes another number of mats. CACTI's own figures fall there too.
RC_GTEST_PROP(SramSurface, ReadEnergyGrowsWithWidthWhileTheOrganisationStays, ()) {
  const auto [depth, banks] = any_depth();
  const int width = 8 * *rc::gen::inRange(4, 64);
  const auto& here = surface(any_technology());
  const SramPoint narrow = point(depth, width, banks), wide = point(depth, width + 8, banks);
  const auto low = here.at(narrow), high = here.at(wide);
  RC_PRE(low.has_value() && high.has_value() && low->organisation == high->organisation);
  RC_PRE(low->origin != energy::SramOrigin::kGrid);
  RC_PRE(energy::subarray(low->organisation, narrow)->active_mats ==
         energy::subarray(high->organisation, wide)->active_mats);
  RC_ASSERT(high->figures[kRead] > low->figures[kRead] * 0.95);
}

}  // namespace
}  // namespace orrery::formats::cacti
