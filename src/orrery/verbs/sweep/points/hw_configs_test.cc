#include "orrery/verbs/sweep/points/hw_configs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/verbs/sweep/engines/layer_answer.h"
#include "orrery/verbs/sweep/engines/point_reading.h"

namespace orrery::sweep {
namespace {

std::shared_ptr<const base::SourceFile> file(const std::string& text) {
  return std::make_shared<const base::SourceFile>(base::SourceFile{"hw_configs.json", text});
}

const char* const kTwo = R"([{"pe_rows": 16, "pe_cols": 8, "dataflow": "WS", "accumulator_size": 4096},
                             {"pe_rows": 32, "pe_cols": 8, "dataflow": "OS", "accumulator_size": 2048}])";

TEST(HwConfigs, ObjectsGoSideBySideAndMixedTheirValuesAreMultiplied) {
  const auto beside = read_configs(file(kTwo), false, 0);
  ASSERT_EQ(beside.size(), 1);
  EXPECT_EQ(beside[0].size(), 2);
  const auto mixed = read_configs(file(kTwo), true, 0);
  std::size_t points = 1;
  for (const Group& group : mixed) points *= group.size();
  EXPECT_EQ(points, 2 * 1 * 2 * 2) << "equal values count once";
  EXPECT_EQ(read_configs(file(kTwo), false, 1)[0].size(), 1);
}

TEST(HwConfigs, WhatIsNoConfigurationIsRefused) {
  for (const char* text : {"{}", "[]", "[1]", R"([{"pe_row": 1}])", R"([{"dataflow": "NS"}])", R"([{"pe_rows": -1}])",
                           R"([{"pe_rows": 1}, {"pe_cols": 1}])", R"([{"pe_rows": 1}, {}])", "["}) {
    try {
      read_configs(file(text), false, 0);
      ADD_FAILURE() << text;
    } catch (const base::InputError& error) {
      EXPECT_EQ(error.diagnostics.front().code, "O2058") << text;
    }
  }
}

TEST(HwConfigs, ARowsAccumulatorsAreOneMemoryForNormalisations) {
  const Expanded expanded =
      expand({{"config.accumulator_size", "4096"}, {"config.pe_rows", "32"}, {"config.pe_cols", "8"}});
  const auto value = [&](const std::string& path) {
    const auto found = std::find_if(expanded.point.begin(), expanded.point.end(),
                                    [&](const base::Override& set) { return set.path == path; });
    return found == expanded.point.end() ? "" : found->value;
  };
  EXPECT_EQ(value("arch.Accumulator.depth"), "4096 // (width // datawidth)");
  EXPECT_EQ(value("norm.arch.Accumulator.depth"), "131072 // (width // datawidth)");
  EXPECT_EQ(value("arch.PERows.meshY"), "32");
  ASSERT_TRUE(expanded.pin);
  EXPECT_EQ(*expanded.pin, (Pin{32, 8, "WS"}));
}

Request catalogue_gemmini(const std::string&, const std::vector<std::string>&) {
  verbs::MapRequest request;
  request.chips = {"gemmini"};
  request.gemms = {{256, 256, 256}};
  return request;
}

TEST(HwConfigs, PinnedAsTheFilesPinItTheAnswerIsThatOfTheFiles) {
  ChipReadings readings({}, catalogue_gemmini, {});
  const auto answer = [&](const base::Overrides& point) {
    const PointQuestions read = readings.read_whole(point);
    verbs::LayerQuestion question = read.asked->questions.front();
    question.chip = read.chips.front();
    return answer_layer(question, {});
  };
  const store::Outcome files = answer({});
  const store::Outcome pinned = answer({{"config.pe_rows", "16"}, {"config.pe_cols", "16"}, {"config.dataflow", "WS"}});
  EXPECT_EQ(files.status, store::Status::kOptimal);
  EXPECT_EQ(files.figures.values[0], pinned.figures.values[0]);
  EXPECT_EQ(files.figures.values[1], pinned.figures.values[1]);
}

TEST(HwConfigs, EveryDataflowUsesTheWholeArrayWhereBoundsAllow) {
  ChipReadings readings({}, catalogue_gemmini, {});
  for (const char* dataflow : {"WS", "IS", "OS"})
    for (const char* rows : {"8", "16", "32"}) {
      const PointQuestions read =
          readings.read_whole({{"config.pe_rows", rows}, {"config.pe_cols", "16"}, {"config.dataflow", dataflow}});
      verbs::LayerQuestion question = read.asked->questions.front();
      question.chip = read.chips.front();
      const store::Outcome out = answer_layer(question, {});
      ASSERT_EQ(out.status, store::Status::kOptimal) << dataflow << rows << out.reason;
      const double units = std::stod(rows) * 16, operations = 256.0 * 256 * 256;
      EXPECT_GE(out.figures[store::Figure::kCycles], operations / units);
      EXPECT_NEAR(out.figures[store::Figure::kUtilization] * out.figures[store::Figure::kCycles], operations / units, 1)
          << dataflow << rows;
    }
}

// What the scripts pin is less than the whole array, so that the best mapping is nowhere worse.
TEST(HwConfigs, PinnedAsTheScriptsDoNoMappingOfTheWholeArrayIsLost) {
  // Sixteen columns at a register are of weights that stay; an output's register has room for one.
  const auto free_registers = [](const std::string& verb, const std::vector<std::string>& arguments) -> Request {
    auto request = std::get<verbs::MapRequest>(catalogue_gemmini(verb, arguments));
    request.overrides = {{"arch.Registers.constraints.temporal", "{factors: [D=1, E=1]}"}};
    return request;
  };
  ChipReadings array({}, free_registers, {}), scripts({}, free_registers, {}, Pins::kScripts);
  const auto edp = [](ChipReadings& readings, const base::Overrides& point) {
    const PointQuestions read = readings.read_whole(point);
    verbs::LayerQuestion question = read.asked->questions.front();
    question.chip = read.chips.front();
    return answer_layer(question, {});
  };
  for (const char* rows : {"8", "16", "32"}) {
    const base::Overrides point = {{"config.pe_rows", rows}, {"config.pe_cols", "16"}, {"config.dataflow", "OS"}};
    const store::Outcome whole = edp(array, point), half = edp(scripts, point);
    ASSERT_EQ(half.status, store::Status::kOptimal) << half.reason;
    EXPECT_LE(half.figures[store::Figure::kEdp], whole.figures[store::Figure::kEdp] * (1 + 1e-9));
  }
  // The files pin 16 rows: fewer hold no mapping, more stay idle.
  const auto ws = [&](const char* rows) {
    return edp(scripts, {{"config.pe_rows", rows}, {"config.pe_cols", "16"}, {"config.dataflow", "WS"}});
  };
  EXPECT_EQ(ws("8").status, store::Status::kInfeasible);
  EXPECT_NEAR(ws("32").figures[store::Figure::kUtilization], ws("16").figures[store::Figure::kUtilization] / 2, 1e-6);
}

TEST(HwConfigs, WordsAmongTheFilesNameLayersAndWhereToFuse) {
  const auto read = [](const std::string&, const std::vector<std::string>&) -> Request {
    verbs::MapRequest request;
    request.chips = {"gemmini"};
    request.model = "bert-large";
    request.files = {"KTQ", "softmax", "Accumulator"};
    return request;
  };
  ChipReadings readings({}, read, {"config.pe_rows"});
  const PointQuestions asked = readings.read_whole({{"config.pe_rows", "16"}, {"config.pe_cols", "16"}});
  std::vector<std::string> names;
  for (const verbs::LayerQuestion& question : asked.asked->questions) names.push_back(question.name);
  EXPECT_EQ(names, (std::vector<std::string>{"KTQ", "softmax"}));
  EXPECT_EQ(readings.base_request().fuse.level, "Accumulator");
}

}  // namespace
}  // namespace orrery::sweep
