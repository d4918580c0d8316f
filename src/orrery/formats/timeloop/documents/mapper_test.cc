#include "orrery/formats/timeloop/documents/mapper.h"

#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Metric;
using testing::parse;
using testing::Places;
using testing::places;
using testing::says;

struct Result {
  MapperOptions options;
  base::Diagnostics found;
};

Result read(const std::string& text) {
  Result result;
  const yaml::Node document = parse(text);
  result.options = read_mapper(*document.find("mapper"), Scope(), result.found);
  return result;
}

TEST(Mapper, TakesObjectiveAndThreads) {
  const Result result = read("mapper: {version: 0.4, optimization_metrics: [delay, energy], num_threads: 12}");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(result.options.objective, (std::vector<Metric>{Metric::kDelay, Metric::kEnergy}));
  EXPECT_EQ(result.options.threads, 12);
}

TEST(Mapper, OlderKeysWithHyphensMeanTheSame) {
  const Result result = read("mapper: {optimization-metric: [edp, delay], num-threads: 2, live-status: False}");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(result.options.objective, (std::vector<Metric>{Metric::kEdp, Metric::kDelay}));
  EXPECT_EQ(result.options.threads, 2);
}

TEST(Mapper, TheEmptySingularOfProcessedFilesDoesNotHideThePlural) {
  const Result result = read("mapper: {optimization_metrics: [energy], optimization_metric: []}");
  EXPECT_EQ(result.options.objective, std::vector<Metric>{Metric::kEnergy});
}

TEST(Mapper, HowTimeloopSamplesDoesNotMatter) {
  const Result result = read(
      "mapper: {algorithm: hybrid, timeout: 15000, victory_condition: 500, search_size: null, sync_interval: 2500}");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_TRUE(result.options.objective.empty());
}

TEST(Mapper, UnknownKeysAreWarningsWithASuggestion) {
  const Result result = read("mapper:\n  num_thread: 4\n");
  EXPECT_EQ(places(result.found), Places{"O0802@2:3w"});
  EXPECT_TRUE(says(result.found, "did you mean `num_threads`?"));
}

TEST(Mapper, AMetricThatDoesNotExistIsAnError) {
  const Result result = read("mapper: {optimization_metrics: [engery]}");
  EXPECT_EQ(places(result.found), Places{"O0801@1:33"});
  EXPECT_TRUE(says(result.found, "did you mean `energy`?"));
}

TEST(Mapper, AccessCountsAreNotSupportedAsTheObjectiveAndDroppedAsTieBreak) {
  EXPECT_EQ(places(read("mapper: {optimization_metrics: [last_level_accesses]}").found), Places{"O0804@1:33"});
  const Result result = read("mapper: {optimization_metrics: [edp, last_level_accesses]}");
  EXPECT_EQ(places(result.found), Places{"O0804@1:38w"});
  EXPECT_EQ(result.options.objective, std::vector<Metric>{Metric::kEdp});
}

TEST(Mapper, ThreadsMustBeSomeAndNotTooMany) {
  EXPECT_EQ(places(read("mapper: {num_threads: 0}").found), Places{"O0803@1:23"});
  EXPECT_EQ(places(read("mapper: {num_threads: 99999999}").found), Places{"O0803@1:23"});
}

TEST(Mapper, MustBeAMap) {
  EXPECT_EQ(places(read("mapper: [edp]").found), Places{"O0800@1:9"});
  EXPECT_EQ(places(read("mapper: {optimization_metrics: {edp: 1}}").found), Places{"O0800@1:32"});
}

}  // namespace
}  // namespace orrery::formats::timeloop
