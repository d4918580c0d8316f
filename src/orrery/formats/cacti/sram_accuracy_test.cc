// How far the surface is from CACTI, at points that its table does not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <source_dir.h>

#include "orrery/describe/energy/sram/sram.h"
#include "orrery/formats/cacti/cacti_table.h"
#include "orrery/formats/cacti/sram_points_test_util.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

using energy::SramFigures, energy::SramPoint, energy::SramRow, energy::SramSurface;

struct Errors {
  int points = 0;
  std::array<double, 4> sum{}, worst{};

  void add(const SramFigures& ours, const SramFigures& theirs) {
    ++points;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double percent = 100 * std::fabs(ours[i] / theirs[i] - 1);
      sum[i] += percent;
      worst[i] = std::max(worst[i], percent);
    }
  }
  double mean(std::size_t figure) const { return sum[figure] / points; }
};

std::string text(const Errors& errors) {
  std::ostringstream out;
  out << errors.points << " points:";
  for (std::size_t i = 0; i < kFigureNames.size(); ++i)
    out << " " << kFigureNames[i] << " " << errors.mean(i) << " (worst " << errors.worst[i] << ")";
  return out.str();
}

std::vector<std::pair<int, SramRow>> points_of(const std::string& path) {
  const auto file = yaml::read_file(path);
  std::vector<std::pair<int, SramRow>> points;
  for (const int technology : kTechnologies) {
    base::Diagnostics found;
    for (const SramRow& row : read_sram_table(file, technology, found).rows) points.emplace_back(technology, row);
    found.throw_if_errors();
  }
  return points;
}

const std::string kPoints = kSourceDirectory + "/tests/data/sram_cacti7_points.csv";

TEST(SramAccuracy, UnseenPointsStayFarWithinTheGoals) {
  Errors small, large;
  for (const auto& [technology, row] : points_of(kPoints)) {
    const auto estimate = catalogue_surfaces()(technology)->at(row.point);
    (row.point.capacity_bytes <= 128 * kKi ? small : large).add(estimate->figures, row.figures);
  }
  EXPECT_GT(small.points, 400);
  EXPECT_GT(large.points, 500);
  EXPECT_LT(small.mean(0), 2.5) << text(small);
  EXPECT_LT(large.mean(0), 2.2) << text(large);
  for (std::size_t i = 1; i < kFigureNames.size(); ++i) {
    EXPECT_LT(small.mean(i), 2.5) << text(small);
    EXPECT_LT(large.mean(i), 2.5) << text(large);
  }
}

// The reference's own points off the grid; the table must not hold them.
TEST(SramAccuracy, TheReferencesPointsOffTheGridMeetItsGoals) {
  const std::string path = kSourceDirectory + "/../shared/goldens/energy/sram_cacti7_offgrid.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  Errors small, large;
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream cells(line);
    int technology = 0;
    SramRow row;
    cells >> technology >> row.point.capacity_bytes >> row.point.width_bits >> row.point.banks >> row.point.ports;
    for (std::size_t i = 0; i < 4; ++i) cells >> row.figures[i];
    const auto estimate = catalogue_surfaces()(technology)->at(row.point);
    ASSERT_TRUE(estimate);
    ASSERT_NE(estimate->origin, energy::SramOrigin::kTable) << line;
    (row.point.capacity_bytes <= 128 * kKi ? small : large).add(estimate->figures, row.figures);
  }
  EXPECT_EQ(small.points + large.points, 30);
  EXPECT_LT(small.mean(0), 10) << text(small);
  EXPECT_LT(large.mean(0), 3.5) << text(large);
  for (std::size_t i = 1; i < kFigureNames.size(); ++i) {
    EXPECT_LT(small.mean(i), 4) << text(small);
    EXPECT_LT(large.mean(i), 4) << text(large);
  }
  RecordProperty("small", text(small));
  RecordProperty("large", text(large));
}

// Each row of the table from the others: a harder question than between rows, since the nearest row is one whole
// step of the grid away.
TEST(SramAccuracy, RowsLeftOutAreFoundAgain) {
  Errors small, large;
  for (const int technology : kTechnologies) {
    const auto surface = catalogue_surfaces()(technology);
    for (const SramRow& row : surface->table().rows) {
      if (row.point.ports != 1 || row.point.width_bits < 32 || row.point.capacity_bytes > 16384 * kKi) continue;
      const auto estimate = surface->left_out(row.point);
      ASSERT_TRUE(estimate);
      (row.point.capacity_bytes <= 128 * kKi ? small : large).add(estimate->figures, row.figures);
    }
  }
  EXPECT_LT(small.mean(0), 3.5) << text(small);
  EXPECT_LT(large.mean(0), 4.2) << text(large);
}

TEST(SramAccuracy, WordsOfUpTo2048BitAreAsNear) {
  Errors errors;
  for (const auto& [technology, row] : points_of(kSourceDirectory + "/tests/data/sram_cacti7_wide.csv")) {
    const auto estimate = catalogue_surfaces()(technology)->left_out(row.point);
    ASSERT_TRUE(estimate);
    errors.add(estimate->figures, row.figures);
  }
  EXPECT_GT(errors.points, 50);
  for (std::size_t i = 0; i < kFigureNames.size(); ++i) EXPECT_LT(errors.mean(i), 2.5) << text(errors);
}

TEST(SramAccuracy, TwoPortsHaveStraightLines) {
  Errors errors;
  for (const auto& [technology, row] : points_of(kSourceDirectory + "/tests/data/sram_cacti7_two_ports.csv")) {
    const auto estimate = catalogue_surfaces()(technology)->at(row.point);
    ASSERT_TRUE(estimate);
    ASSERT_EQ(estimate->origin, energy::SramOrigin::kGrid);
    errors.add(estimate->figures, row.figures);
  }
  EXPECT_GT(errors.points, 100);
  EXPECT_LT(errors.mean(0), 8) << text(errors);
}

}  // namespace
}  // namespace orrery::formats::cacti
