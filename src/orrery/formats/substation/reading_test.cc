// Files of measurements, read: decimals to the femtosecond, lines by name, ranks merged, full tables within seconds.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "orrery/formats/substation/decimal_time.h"
#include "orrery/formats/substation/folder.h"
#include "orrery/formats/substation/kernel_file.h"
#include "orrery/formats/substation/layout_file.h"
#include "orrery/formats/substation/write.h"
#include "orrery/tuning/selection.h"

namespace orrery::formats::substation {
namespace {

namespace fs = std::filesystem;

const fs::path kExample = fs::path(ORRERY_SOURCE_DIR) / "examples/substation";
const tuning::Graph& graph() {
  static const tuning::Graph one = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  return one;
}

base::Count optimum(const fs::path& folder) {
  base::Diagnostics warnings;
  const tuning::Measurements measured = read_folder(folder.string(), graph(), 2, warnings);
  const tuning::Minimum found = tuning::minimize(tuning::make_problem(graph(), measured).factors, {});
  EXPECT_TRUE(found.proven() && found.found);
  return found.cost;
}

// A folder that is gone with the test, with the example's files.
struct Copy {
  fs::path path;
  Copy() : path(fs::temp_directory_path() / fs::path("orrery_substation_" + std::to_string(std::random_device{}()))) {
    fs::copy(kExample, path);
  }
  ~Copy() { fs::remove_all(path); }
};

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

void write(const fs::path& path, const std::vector<std::string>& lines) {
  std::ofstream out(path);
  for (const std::string& line : lines) out << line << '\n';
}

TEST(DecimalTimes, AreExactToTheFemtosecond) {
  EXPECT_EQ(decimal_time("0.000192906", 15).femtoseconds, 192'906'000'000);
  EXPECT_EQ(decimal_time("1.58149e-05", 15).femtoseconds, 15'814'900'000);
  EXPECT_EQ(decimal_time("0.32159", 12).femtoseconds, 321'590'000'000);
  EXPECT_EQ(decimal_time("8e-05", 15).femtoseconds, 80'000'000'000);
  EXPECT_EQ(decimal_time("0.14899199783802032", 12).femtoseconds, 148'991'997'838);
  EXPECT_EQ(decimal_time("1.0000000000005", 12).femtoseconds, 1'000'000'000'001);  // a half goes up
  EXPECT_EQ(decimal_time("1.00000000000049999999999999999999", 12).femtoseconds, 1'000'000'000'000);
  EXPECT_EQ(decimal_time("123456789012345678901e-22", 15).femtoseconds, 12'345'678'901'235);
  EXPECT_EQ(decimal_time("1000", 15).femtoseconds, 1'000'000'000'000'000'000);
  for (const char* wrong : {"", "-1", "0", "0.0", "-0.0", "nan", "NaN", "inf", "-inf", "1e", "1e+", "1x", "e5", ".",
                            "1001", "1e99999999999", "1e-99999999999", "4e-16"})
    EXPECT_FALSE(decimal_time(wrong, 15).wrong.empty()) << wrong;
}

TEST(DecimalTimes, AreWrittenAsTheyAreRead) {
  std::mt19937_64 draw(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto time = static_cast<base::Count>(1 + draw() % (std::uint64_t{1} << (1 + i % 59)));
    for (const int unit : {12, 15})
      ASSERT_EQ(decimal_time(decimal_text(time, unit), unit).femtoseconds, time) << decimal_text(time, unit);
  }
  EXPECT_EQ(decimal_text(192'906'000'000, 15), "0.000192906");
  EXPECT_EQ(decimal_text(15'814'900'000, 15), "1.58149e-05");
}

TEST(Folders, TheOrderOfLinesDuplicatesAndSlowerRowsSayNothing) {
  const base::Count before = optimum(kExample);
  Copy copy;
  std::mt19937_64 draw(1);
  for (const auto& entry : fs::directory_iterator(copy.path)) {
    std::vector<std::string> lines = lines_of(entry.path());
    const bool header = entry.path().string().ends_with("-result.csv");
    lines.push_back(lines.back());
    std::shuffle(lines.begin() + (header ? 1 : 0), lines.end(), draw);
    if (!header) lines.push_back(lines[0].substr(0, lines[0].find(" time")) + " time = 0.5 s");
    if (!header) lines.insert(lines.begin(), lines[0].substr(0, lines[0].find(" time")) + " time = 1e-09 s ERROR");
    write(entry.path(), lines);
  }
  EXPECT_EQ(optimum(copy.path), before);
}

TEST(Folders, ColumnsAreFoundByNameInAnyOrder) {
  Copy copy;
  std::vector<std::string> turned;
  for (const std::string& line : lines_of(copy.path / "bei-combined.csv"))
    turned.push_back("DX = " + line.substr(line.find("DX = ") + 5, 3) + " " + line.substr(0, line.find(" DX = ")) +
                     line.substr(line.find(" time")));
  write(copy.path / "bei-combined.csv", turned);
  EXPECT_EQ(optimum(copy.path), optimum(kExample));
}

TEST(Folders, FilesOfRanksSayWhatTheMergedOnesSay) {
  Copy copy;
  const std::vector<std::string> kernel = lines_of(copy.path / "bdrln-combined.csv");
  write(copy.path / "bdrln-bm0.csv", {kernel.begin(), kernel.begin() + 7});
  write(copy.path / "bdrln-bm11.csv", {kernel.begin() + 7, kernel.end()});
  fs::remove(copy.path / "bdrln-combined.csv");
  // Every call with its time as the median of an odd and of an even number of repetitions.
  std::vector<std::string> layouts{"A,B,C,optype,trans_a,trans_b,M,N,K,lda,ldb,ldc"}, raw;
  int lda = 100;
  for (const std::string& line : lines_of(copy.path / "lin1-result.csv")) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    if (cells[0] == "A") continue;
    if (cells[17] == "tc3") {
      ++lda;
      layouts.push_back(cells[0] + "," + cells[1] + "," + cells[2] + ",GEMM,N,N," + cells[6] + "," + cells[7] + "," +
                        cells[8] + "," + std::to_string(lda) + ",1,1");
    }
    const std::string times =
        cells[17] == "tc3" ? "9," + cells[16] + ",0.0001," : "9," + cells[16] + "," + cells[16] + ",0.0001,";
    raw.push_back("gemm" + cells[17] + ",GEMM," + cells[6] + "," + cells[7] + "," + cells[8] + ",N,N," +
                  std::to_string(lda) + ",1,1,,,,," + times);
  }
  // title, optype, M, N, K, trans_a, trans_b, ...: the sizes stand before the transpositions there.
  write(copy.path / "lin1.csv", layouts);
  write(copy.path / "lin1-pruned-bm0.csv", raw);
  fs::remove(copy.path / "lin1-result.csv");
  EXPECT_EQ(optimum(copy.path), optimum(kExample));
}

TEST(Folders, AreWrittenAsTheyAreRead) {
  base::Diagnostics warnings;
  const tuning::Measurements read = read_folder(kExample.string(), graph(), 1, warnings);
  Copy copy;
  for (const auto& [name, table] : read.tables)
    if (!table.contraction)
      std::ofstream(copy.path / (name + "-combined.csv")) << kernel_text(table, graph(), read.sizes);
  const tuning::Measurements again = read_folder(copy.path.string(), graph(), 1, warnings);
  for (const auto& [name, table] : read.tables) {
    const tuning::Measured& other = again.tables.find(name)->second;
    EXPECT_EQ(other.times, table.times) << name;
    EXPECT_EQ(other.layouts, table.layouts) << name;
    EXPECT_EQ(other.chosen, table.chosen) << name;
  }
}

TEST(LayoutFiles, AChoiceIsReadBackAsItWasWritten) {
  const fs::path shipped = fs::path(ORRERY_SOURCE_DIR) / "../shared/goldens/layer/layouts-bert-b8-l512-h16-e1024.json";
  if (!fs::exists(shipped)) GTEST_SKIP() << "../shared is not there";
  const LayoutFile file = read_layout_file(shipped.string());
  EXPECT_EQ(file.special_dims.size(), 22u);
  EXPECT_EQ(file.algorithms.size(), 18u);
  const auto again =
      parse_layout_json(std::make_shared<base::SourceFile>(base::SourceFile{"again", layout_text(file)}));
  EXPECT_EQ(layout_text(again), layout_text(file));
  // Every tensor is one of the layer's, and its layout names its dimensions.
  for (const auto& [name, layout, where] : layouts_of(file)) {
    const tuning::Variable* variable = graph().variable(name);
    ASSERT_NE(variable, nullptr) << name;
    EXPECT_TRUE(layout_mistake(layout, {name, variable->dims}).empty()) << name << " " << layout;
  }
}

}  // namespace
}  // namespace orrery::formats::substation
