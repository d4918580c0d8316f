// What docs/model/energy.md says of SRAMs: its numbers, and its table of errors measured anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include <source_dir.h>

#include "orrery/describe/energy/sram/sram.h"
#include "orrery/describe/energy/sram/sram_organisation.h"
#include "orrery/formats/cacti/cacti_table.h"
#include "orrery/formats/cacti/sram_points_test_util.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

using base::Count;
using energy::SramFigures, energy::SramPoint, energy::SramRow;

// Rows "| 64 KiB | 75 | 1.2 | 0.8 | 0.6 | 0.9 | ..." of the book: by bytes, points and four errors.
std::map<Count, std::array<double, 5>> table_of_the_book() {
  std::ifstream in(kSourceDirectory + "/docs/model/energy.md");
  std::map<Count, std::array<double, 5>> rows;
  std::string line;
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), '|', ' ');
    std::istringstream cells(line);
    Count size = 0;
    std::string unit;
    std::array<double, 5> numbers{};
    if (!(cells >> size >> unit) || (unit != "KiB" && unit != "MiB")) continue;
    bool all = true;
    for (double& number : numbers) all = all && static_cast<bool>(cells >> number);
    if (all) rows[size * (unit == "KiB" ? 1024 : 1024 * 1024)] = numbers;
  }
  return rows;
}

TEST(SramBook, ItsTableOfErrorsIsWhatIsMeasured) {
  const auto book = table_of_the_book();
  ASSERT_EQ(book.size(), 15u);
  std::map<Count, std::array<double, 5>> measured;
  const auto file = yaml::read_file(kSourceDirectory + "/tests/data/sram_cacti7_points.csv");
  for (const int technology : kTechnologies) {
    base::Diagnostics found;
    for (const SramRow& row : read_sram_table(file, technology, found).rows) {
      auto& here = measured[book.lower_bound(row.point.capacity_bytes)->first];
      const SramFigures ours = catalogue_surfaces()(technology)->at(row.point)->figures;
      ++here[0];
      for (std::size_t i = 0; i < 4; ++i) here[i + 1] += 100 * std::fabs(ours[i] / row.figures[i] - 1);
    }
  }
  for (const auto& [bytes, stated] : book) {
    EXPECT_EQ(measured[bytes][0], stated[0]) << bytes;
    for (std::size_t i = 1; i < 5; ++i) EXPECT_NEAR(measured[bytes][i] / stated[0], stated[i], 0.06) << bytes;
  }
}

TEST(SramBook, TheTableHoldsAsManyMemoriesAsItSays) {
  std::size_t rows = 0;
  for (const int technology : kTechnologies) rows += catalogue_surfaces()(technology)->table().rows.size();
  EXPECT_EQ(rows, 9505u);
}

TEST(SramBook, ARegisterOfOneByteStepByStep) {
  const auto asked = energy::request({32, 8, 1, 1, 1});
  EXPECT_EQ(asked.point, (SramPoint{256, 32, 1, 1}));
  EXPECT_NEAR(std::pow(1.0 / 64, 0.78), 0.0390103, 5e-8);
  EXPECT_NEAR(asked.scale[energy::kRead], 0.475 * 0.0390103, 5e-8);
  const double read = catalogue_surfaces()(32)->at(asked.point)->figures[energy::kRead];
  EXPECT_EQ(read, 0.350301);
  EXPECT_NEAR(read * asked.scale[energy::kRead], 0.00649104, 5e-9);
}

TEST(SramBook, OrganisationsJumpByThreeQuarters) {
  // 65 nm, 2 banks of 72 bit: what nearly ties in cost differs by 1.75 in read energy.
  const auto& surface = *catalogue_surfaces()(65);
  double least = 1e300, most = 0;
  for (Count bytes = 6000; bytes < 10000; bytes += 9) {
    const double read = surface.at({bytes / 9 * 9, 72, 2, 1})->figures[energy::kRead];
    least = std::min(least, read);
    most = std::max(most, read);
  }
  EXPECT_GT(most / least, 1.6);
}

// 8 bit more at equal depth: figures may fall where another organisation takes over, and nowhere else.
TEST(SramBook, OneStepInTenThousandFallsWithoutAnotherOrganisation) {
  std::mt19937 random(1);
  int same = 0, same_falls = 0, falls = 0, steps = 0;
  while (steps < 40000) {
    const auto surface = catalogue_surfaces()(kTechnologies[random() % kTechnologies.size()]);
    const int banks = 1 << random() % 6, width = 8 * (4 + static_cast<int>(random() % 60));
    const double octaves = std::log2(16.0 * 1024 * 1024 * 8 / 512 / banks) - 5;
    const Count words = static_cast<Count>(std::exp2(5 + octaves * (random() % 10000) / 10000.0)) * banks;
    const SramPoint narrow{words * width / 8, width, banks, 1}, wide{words * (width + 8) / 8, width + 8, banks, 1};
    const auto low = surface->at(narrow), high = surface->at(wide);
    if (!low || !high) continue;
    ++steps;
    const bool fall = high->figures[energy::kRead] < low->figures[energy::kRead];
    falls += fall;
    const auto part = energy::subarray(low->organisation, narrow), other = energy::subarray(high->organisation, wide);
    if (!part || !other || low->organisation != high->organisation || part->active_mats != other->active_mats) continue;
    ++same;
    same_falls += fall;
  }
  EXPECT_LT(same_falls, 8) << same;
  EXPECT_NEAR(100.0 * falls / steps, 1.9, 0.3);
}

}  // namespace
}  // namespace orrery::formats::cacti
