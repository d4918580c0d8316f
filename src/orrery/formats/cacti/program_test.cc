#include "orrery/formats/cacti/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/cacti/child_process.h"
#include "orrery/formats/cacti/configuration.h"
#include "orrery/formats/cacti/result.h"
#include "orrery/formats/cacti/run_cache.h"
#include "orrery/formats/cacti/sram_points_test_util.h"

namespace orrery::formats::cacti {
namespace {

namespace fs = std::filesystem;
using energy::Refusal, energy::SramAnswer, energy::SramPoint;

const std::string kHeader =
    "Tech node (nm), Capacity (bytes), Number of banks, Associativity, Output width (bits), Access time (ns), "
    "Random cycle time (ns), Dynamic search energy (nJ), Dynamic read energy (nJ), Dynamic write energy (nJ), "
    "Standby leakage per bank(mW), Area (mm2), Ndwl, \n";
const std::string kRow =
    "32, 524288, 4, 1, 128, 2.33395, 1.52386, N/A, 0.057039, 0.0540501, 0.00570977, 0.901693, 2, \n";
const SramPoint kScratchpad{524288, 128, 4, 1};

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A shell script in the place of CACTI; `runs` counts how often it was started.
struct Fake : ::testing::Test {
  ScratchDirectory scratch;
  fs::path home = scratch.path().value();

  ProgramOptions program(const std::string& body) {
    const fs::path script = home / "cacti";
    write(script, "#!/bin/sh\necho started >> '" + (home / "runs").string() + "'\n" + body);
    fs::permissions(script, fs::perms::owner_all);
    return {script, home / "cache", std::chrono::seconds(20)};
  }
  ProgramOptions program_that_answers(const std::string& header, const std::string& row) {
    write(home / "answer", header + row);
    return program("cp '" + (home / "answer").string() + "' \"$2.out\"\n");
  }
  long runs() const {
    return static_cast<long>(base::contents(home / "runs").size() / std::string("started\n").size());
  }

  static std::string refusal(const ProgramOptions& options) {
    const auto answer = program_model(options)(32, kScratchpad);
    return std::holds_alternative<Refusal>(answer) ? std::get<Refusal>(answer).reason : "answered";
  }
};

TEST(CactiResult, FiguresAreReadByTheNamesOfTheirColumns) {
  const auto figures = std::get<energy::SramFigures>(read_result(kHeader + kRow, 4));
  EXPECT_DOUBLE_EQ(figures[energy::kRead], 57.039);
  EXPECT_DOUBLE_EQ(figures[energy::kWrite], 54.0501);
  EXPECT_DOUBLE_EQ(figures[energy::kLeak], 4 * 0.00570977);
  EXPECT_DOUBLE_EQ(figures[energy::kArea], 0.901693);
  EXPECT_DOUBLE_EQ(figures[energy::kAccess], 2.33395);
}

TEST(CactiResult, AMissingColumnIsNamed) {
  const std::string header = "Access time (ns), Dynamic read energy (nJ), Dynamic write energy (nJ), Area (mm2)\n";
  EXPECT_EQ(std::get<std::string>(read_result(header + "1, 2, 3, 4\n", 1)),
            "its result has no column `Standby leakage per bank(mW)`");
  EXPECT_EQ(std::get<std::string>(read_result(kHeader, 1)), "its result holds no row of figures");
  EXPECT_EQ(std::get<std::string>(read_result(kHeader + "32, 524288\n", 1)),
            "its result has `` as `Dynamic read energy (nJ)`");
}

TEST(CactiConfiguration, NamesTheMemory) {
  const std::string text = configuration(32, {5000, 40, 4, 2});
  for (const char* line : {"-size (bytes) 5000\n", "-block size (bytes) 5\n", "-output/input bus width 40\n",
                           "-UCA bank count 4\n", "-read-write port 2\n", "-technology (u) 0.032\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST_F(Fake, ARunGivesTheFiguresAndIsKept) {
  const ProgramOptions options = program_that_answers(kHeader, kRow);
  for (int i = 0; i < 3; ++i) {
    const auto model = program_model(options);
    for (int j = 0; j < 2; ++j)
      EXPECT_DOUBLE_EQ(std::get<SramAnswer>(model(32, kScratchpad)).figures[energy::kRead], 57.039);
  }
  EXPECT_EQ(runs(), 1);
  EXPECT_TRUE(std::holds_alternative<SramAnswer>(program_model(options)(45, kScratchpad)));
  EXPECT_EQ(runs(), 2);
}

TEST_F(Fake, ASpoiltResultOfEarlierIsIgnoredAndWrittenAnew) {
  const ProgramOptions options = program_that_answers(kHeader, kRow);
  program_model(options)(32, kScratchpad);
  const fs::path kept = fs::directory_iterator(*options.cache)->path();
  const std::string good = base::contents(kept);
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), "x" + good, good + "1\n"}) {
    write(kept, bad);
    EXPECT_DOUBLE_EQ(std::get<SramAnswer>(program_model(options)(32, kScratchpad)).figures[energy::kRead], 57.039);
    EXPECT_EQ(base::contents(kept), good);
  }
  EXPECT_EQ(runs(), 5);
}

TEST_F(Fake, AnotherProgramIsAskedAnew) {
  program_model(program_that_answers(kHeader, kRow))(32, kScratchpad);
  ProgramOptions options = program("# another\ncp '" + (home / "answer").string() + "' \"$2.out\"\n");
  program_model(options)(32, kScratchpad);
  EXPECT_EQ(runs(), 2);
}

TEST_F(Fake, ItRunsWhereItsTechnologiesLie) {
  fs::create_directory(home / "tech_params");
  const ProgramOptions options = program("pwd > '" + (home / "where").string() + "'\n");
  EXPECT_EQ(refusal(options), "the program wrote no result");
  EXPECT_EQ(fs::path(base::contents(home / "where").substr(0, base::contents(home / "where").find('\n'))),
            fs::canonical(home));
}

TEST_F(Fake, WhatFailsSaysHow) {
  EXPECT_EQ(refusal(program("echo 'Invalid array'; exit 3\n")),
            "the program ended with status 3; it last said: Invalid array");
  EXPECT_EQ(refusal(program("kill -9 $$\n")), "the program was stopped by signal 9");
  EXPECT_EQ(refusal(program_that_answers(kHeader, "32, 1\n")), "its result has `` as `Dynamic read energy (nJ)`");
}

TEST_F(Fake, AProgramThatHangsIsStoppedWithItsChildren) {
  ProgramOptions options = program("sleep 600 & sleep 600\n");
  options.limit = std::chrono::milliseconds(100);
  EXPECT_EQ(refusal(options), "the program was still running after 0.1 s");
}

TEST_F(Fake, WithoutACacheFolderRunsAreKeptForThisRunOnly) {
  ProgramOptions options = program_that_answers(kHeader, kRow);
  options.cache = std::nullopt;
  const auto model = program_model(options);
  model(32, kScratchpad);
  model(32, kScratchpad);
  EXPECT_EQ(runs(), 1);
  program_model(options)(32, kScratchpad);
  EXPECT_EQ(runs(), 2);
  options.cache = home / "answer" / "no folder";
  EXPECT_TRUE(std::holds_alternative<SramAnswer>(program_model(options)(32, kScratchpad)));
}

TEST_F(Fake, WhatIsNoProgramIsAnError) {
  for (const fs::path& wrong : {home / "nothing", home}) {
    EXPECT_EQ(base::refused([&] { program_model({wrong, std::nullopt}); }).at(0).code, "O1255");
  }
}

TEST_F(Fake, TheEstimatorAppliesTheRulesOfSrams) {
  const auto estimator = program_estimator(program_that_answers(kHeader, kRow), catalogue_errors());
  const energy::Attributes memory{{"technology", std::string("32nm")},
                                  {"width", base::Count{128}},
                                  {"depth", base::Count{32768}},
                                  {"n_banks", base::Count{4}},
                                  {"global_cycle_seconds", 1.2e-9}};
  const energy::Query query{"SRAM", memory, "leak", {}};
  EXPECT_GT(estimator->accuracy(query).value(), energy::kSramAccuracyPercent);
  const auto figure = std::get<energy::Figure>(estimator->estimate(query));
  EXPECT_NEAR(figure.value, 0.0274069, 1e-7);
  EXPECT_EQ(figure.estimator, "cacti");
  EXPECT_EQ(figure.expected_error_percent, 0.0005);  // it prints six digits
}

// The real program, where somebody has one: ORRERY_CACTI names it.
TEST(CactiProgram, GivesTheTablesFigures) {
  const char* path = std::getenv("ORRERY_CACTI");
  if (!path) GTEST_SKIP() << "ORRERY_CACTI names no CACTI 7";
  const auto model = program_model({path, std::nullopt});
  const auto answer = model(32, kScratchpad);
  ASSERT_TRUE(std::holds_alternative<SramAnswer>(answer)) << std::get<Refusal>(answer).reason;
  EXPECT_DOUBLE_EQ(std::get<SramAnswer>(answer).figures[energy::kRead], 57.039);
  EXPECT_DOUBLE_EQ(std::get<SramAnswer>(answer).figures[energy::kWrite], 54.0501);
  EXPECT_DOUBLE_EQ(std::get<SramAnswer>(answer).figures[energy::kArea], 0.901693);
  EXPECT_TRUE(std::holds_alternative<Refusal>(model(32, {100, 512, 1, 1})));
}

}  // namespace
}  // namespace orrery::formats::cacti
