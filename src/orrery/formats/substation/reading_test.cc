// Files of measurements, read: decimals to the femtosecond, lines by name, ranks merged, full tables within seconds.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/formats/substation/columns.h"
#include "orrery/formats/substation/decimal_time.h"
#include "orrery/formats/substation/folder.h"
#include "orrery/formats/substation/kernel_file.h"
#include "orrery/formats/substation/layout_file.h"
#include "orrery/formats/substation/write.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"

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

TEST(Tables, WithoutRowsLeaveNoChoice) {
  tuning::Measurements none;
  for (const auto& expected : expected_files(graph())) none.tables.emplace(expected.benchmark, empty_table(expected));
  const tuning::Minimum found = tuning::minimize(tuning::make_problem(graph(), none).factors, {});
  EXPECT_TRUE(found.infeasible);
  EXPECT_FALSE(found.found);
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

std::string said(const fs::path& folder, std::size_t piece, int threads) {
  base::Diagnostics warnings;
  std::string out;
  try {
    read_folder(folder.string(), graph(), {.threads = threads, .stop = nullptr, .piece = piece}, warnings);
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& one : error.diagnostics)
      out += one.code + " " + one.message + " " + std::to_string(one.primary.where.line) + ":" +
             std::to_string(one.primary.where.column) + "\n";
  }
  return out;
}

// Where a file was cut, and by how many threads it was read, no message knows.
TEST(Folders, WhatIsWrongIsSaidAlikeWhereverAFileWasCut) {
  const char* const wrong[] = {"nonsense",
                               "B = 2 J = 8 N = 8 dt = B dv = N DXATT = BJN DRESID1 = BJN DX = BJX time = 1e-6 s",
                               "B = 2 J = 9 N = 8 dt = B dv = N DXATT = BJN DRESID1 = BJN DX = BJN time = 1e-6 s",
                               "U = 2 dt = B dv = N DXATT = BJN DRESID1 = BJN DX = BJN time = 1e-6 s",
                               "dt = B dv = N DXATT = BJN DRESID1 = BJN DX = BJN time = -1e-6 s",
                               "dt = B dv = N DXATT = BJN DRESID1 = BJN DX = BJN time = 1e-6 s extra",
                               "dt = B dv = N DXATT = BJN DX = BJN time = 1e-6 s",
                               "dt = B dv = N DXATT = BJN DRESID1 = BJN DX = BJN time = 1e-6",
                               "dt = B dv = NN DXATT = BJN DRESID1 = BJN DX = BJN time = 1e-6 s"};
  std::mt19937_64 draw(8);
  for (int i = 0; i < 60; ++i) {
    Copy copy;
    std::vector<std::string> lines = lines_of(copy.path / "bei-combined.csv");
    for (int more = 1 + static_cast<int>(draw() % 4); more > 0; --more)
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(draw() % (lines.size() + 1)),
                   wrong[draw() % std::size(wrong)]);
    write(copy.path / "bei-combined.csv", lines);
    const std::string whole = said(copy.path, std::size_t{1} << 30, 1);
    for (const std::size_t piece : {1u, 100u, 333u}) ASSERT_EQ(said(copy.path, piece, 2), whole) << i;
  }
}

TEST(Folders, MarksOfEditorsAreReadOverAndEndlessLinesRefusedShortly) {
  Copy copy;
  for (const char* const name : {"bei-combined.csv", "lin1-result.csv"}) {
    std::vector<std::string> lines = lines_of(copy.path / name);
    lines[0] = "\xef\xbb\xbf" + lines[0];
    write(copy.path / name, lines);
  }
  EXPECT_EQ(optimum(copy.path), optimum(kExample));
  for (const char* const name : {"bei-combined.csv", "lin1-result.csv"}) {
    std::vector<std::string> lines = lines_of(copy.path / name);
    lines.push_back(std::string(std::size_t{3} << 20, 'x'));
    lines.push_back(std::string(100'000, 'y') + " = 2");
    write(copy.path / name, lines);
  }
  const std::string told = said(copy.path, std::size_t{1} << 30, 1);
  EXPECT_NE(told.find("the line has 3145728 bytes"), std::string::npos);
  EXPECT_LT(told.size(), 1000u);
}

TEST(Folders, AnInterruptEndsTheReading) {
  const std::atomic<bool> stop = true;
  base::Diagnostics warnings;
  EXPECT_FALSE(read_folder(kExample.string(), graph(), {.threads = 2, .stop = &stop}, warnings));
}

TEST(Folders, AreWrittenAsTheyAreRead) {
  base::Diagnostics warnings;
  const tuning::Measurements read = read_folder(kExample.string(), graph(), 1, warnings);
  Copy copy;
  for (const auto& [name, table] : read.tables)
    std::ofstream(copy.path / (name + (table.contraction ? "-result.csv" : "-combined.csv")))
        << (table.contraction ? result_text : kernel_text)(table, graph(), read.sizes);
  const tuning::Measurements again = read_folder(copy.path.string(), graph(), 1, warnings);
  for (const auto& [name, table] : read.tables) {
    const tuning::Measured& other = again.tables.find(name)->second;
    EXPECT_EQ(other.times, table.times) << name;
    EXPECT_EQ(other.layouts, table.layouts) << name;
    EXPECT_EQ(other.chosen, table.chosen) << name;
  }
}

// What Python's pickle.dumps(layouts, protocol) made of the text below, with pairs as tuples, in hexadecimal.
constexpr const char* kProtocol2 =
    "80027d7100285805000000696e707574710158010000005871025803000000424a4e710386710458060000006f7574707574"
    "7105580300000053423271066803867107580c0000007370656369616c5f64696d7371087d71092858090000006264726c6e"
    "315f6476710a58010000004e710b580a000000736f66746d61785f6476710c58010000004b710d75580a000000616c676f72"
    "6974686d73710e7d710f2858040000006c696e317110580300000074633371115803000000514b547112580a00000074635f"
    "64656661756c747113755806000000706172616d7371145d7115285804000000574b5156711658040000005150484e711786"
    "71185804000000424b515671195803000000515048711a86711b65580e000000666f72776172645f696e7465726d711c5d71"
    "1d2858060000004b4b51515656711e5805000000515048424a711f8671205804000000424554417121580400000048424a4b"
    "712286712365580f0000006261636b776172645f696e7465726d71245d71255804000000444c4e327126680386712761752e";
constexpr const char* kProtocol4 =
    "80049515010000000000007d94288c05696e707574948c0158948c03424a4e9486948c066f7574707574948c035342329468"
    "0386948c0c7370656369616c5f64696d73947d94288c096264726c6e315f6476948c014e948c0a736f66746d61785f647694"
    "8c014b94758c0a616c676f726974686d73947d94288c046c696e31948c03746333948c03514b54948c0a74635f6465666175"
    "6c7494758c06706172616d73945d94288c04574b5156948c045150484e9486948c04424b5156948c03515048948694658c0e"
    "666f72776172645f696e7465726d945d94288c064b4b51515656948c05515048424a9486948c0442455441948c0448424a4b"
    "948694658c0f6261636b776172645f696e7465726d945d948c04444c4e32946803869461752e";
constexpr const char* kAsJson =
    R"({"input": ["X", "BJN"], "output": ["SB2", "BJN"], "special_dims": {"bdrln1_dv": "N", "softmax_dv": "K"}, 
    "algorithms": {"lin1": "tc3", "QKT": "tc_default"}, 
    "params": [["WKQV", "QPHN"], ["BKQV", "QPH"]], "forward_interm": [["KKQQVV", "QPHBJ"], ["BETA", "HBJK"]], 
    "backward_interm": [["DLN2", "BJN"]]})";

std::string from_hex(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return out;
}

TEST(LayoutFiles, PickledByPythonSayWhatTheirJsonSays) {
  const std::string twin =
      layout_text(parse_layout_json(std::make_shared<base::SourceFile>(base::SourceFile{"twin", kAsJson})));
  EXPECT_NE(twin.find("tc_default"), std::string::npos);
  for (const char* pickled : {kProtocol2, kProtocol4}) {
    const std::string bytes = from_hex(pickled);
    EXPECT_EQ(layout_text(parse_layout_pickle(bytes, {})), twin);
    // Cut anywhere it is refused, and never half a file.
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_THROW(parse_layout_pickle(std::string_view(bytes).substr(0, cut), {}), base::InputError) << cut;
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
