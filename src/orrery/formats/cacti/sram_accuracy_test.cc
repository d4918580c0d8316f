// How far the surface is from CACTI, at points that its table does not have.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "orrery/energy/sram.h"
#include "orrery/formats/cacti/sram_table.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

using energy::SramFigures, energy::SramPoint, energy::SramRow, energy::SramSurface;

const std::string kRoot = ORRERY_SOURCE_DIR;
constexpr std::array<int, 5> kTechnologies{22, 32, 45, 65, 90};
constexpr base::Count kKi = 1024;
const std::array<const char*, 4> kNames{"read", "write", "leakage", "area"};

const energy::SramSurfaces& surfaces() {
  static const auto kept = sram_surfaces(yaml::read_file(kRoot + "/catalog/tables/sram_cacti7.csv"));
  return kept;
}

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
  for (std::size_t i = 0; i < kNames.size(); ++i)
    out << " " << kNames[i] << " " << errors.mean(i) << " (worst " << errors.worst[i] << ")";
  return out.str();
}

std::vector<std::pair<int, SramRow>> held_out() {
  const auto file = yaml::read_file(kRoot + "/tests/data/sram_cacti7_points.csv");
  std::vector<std::pair<int, SramRow>> points;
  for (const int technology : kTechnologies) {
    base::Diagnostics found;
    for (const SramRow& row : read_sram_table(file, technology, found).rows) points.emplace_back(technology, row);
    found.throw_if_errors();
  }
  return points;
}

TEST(SramAccuracy, PointsThatNoFitHasSeen) {
  std::map<int, Errors> classes;
  for (const auto& [technology, row] : held_out()) {
    const auto estimate = surfaces()(technology)->at(row.point);
    ASSERT_TRUE(estimate);
    ASSERT_NE(estimate->origin, energy::SramOrigin::kTable);
    for (const auto& [size, bytes] : {std::pair{0, 4}, {1, 32}, {2, 128}, {3, 2048}, {4, 1 << 20}})
      if (row.point.capacity_bytes <= bytes * kKi) {
        classes[size].add(estimate->figures, row.figures);
        break;
      }
    classes[row.point.capacity_bytes <= 128 * kKi ? 10 : 11].add(estimate->figures, row.figures);
    classes[20 + row.point.banks].add(estimate->figures, row.figures);
    classes[100 + technology].add(estimate->figures, row.figures);
  }
  for (const auto& [size, errors] : classes) std::printf("%d: %s\n", size, text(errors).c_str());
}

}  // namespace
}  // namespace orrery::formats::cacti
