// Measuring at sizes that take a second: what is on disk, what goes on, what is chosen.
#include "orrery/verbs/tune/bench/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "orrery/formats/substation/folder.h"
#include "orrery/runtime/tuning/graph_run.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/verbs/tune/run/layout_choice.h"
#include "orrery/verbs/tune/tune_store.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("orrery_bench_" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::string text(const std::string& file) const {
    std::ifstream in(path_ / file);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

 private:
  fs::path path_;
};

TuneBenchRequest small_bench(const Folder& folder) {
  TuneBenchRequest request;
  request.sizes = "B=2,J=16,H=2,P=16";
  request.folder = folder.path();
  request.limits.threads = 1;
  return request;
}

std::string bench_code(const TuneBenchRequest& request) {
  try {
    tune_bench(request);
  } catch (const base::InputError& error) {
    return error.diagnostics.front().code;
  }
  return "";
}

TEST(TuneBench, AKernelAloneIsMeasuredUntilItsModelExpectsNothingFaster) {
  const Folder folder;
  TuneBenchRequest request = small_bench(folder);
  request.only = "bei";
  const TunedBench bench = tune_bench(request);
  ASSERT_EQ(bench.benchmarks.size(), 1U);
  EXPECT_TRUE(bench.complete);
  EXPECT_EQ(bench.benchmarks[0].configurations, 1944);
  EXPECT_GT(bench.benchmarks[0].measured, 5U);
  EXPECT_LE(bench.benchmarks[0].best_ms, bench.benchmarks[0].worst_ms);
  EXPECT_NE(folder.text("bei-combined.csv").find("B = 2 J = 16 N = 32 dt = "), std::string::npos);
}

TEST(TuneBench, AMeasurementBelowItsModelsBoundLeavesTheFastestRows) {
  EXPECT_EQ(slack_above(2, 5), 3);
  EXPECT_EQ(slack_above(5, 2), 0);
}

TEST(TuneBench, WhatIsOnDiskIsNotMeasuredAgainAndACutLineIs) {
  const Folder folder;
  TuneBenchRequest request = small_bench(folder);
  request.only = "lin1";
  const TunedBench first = tune_bench(request);
  EXPECT_EQ(bench_code(request), "O1740");
  request.resume = true;
  const TunedBench again = tune_bench(request);
  EXPECT_EQ(again.benchmarks[0].runs, 0U);
  EXPECT_EQ(again.benchmarks[0].best_ms, first.benchmarks[0].best_ms);
  const std::string lines = folder.text("lin1-pruned-bm0.csv");
  std::ofstream(fs::path(folder.path()) / "lin1-pruned-bm0.csv") << lines.substr(0, lines.size() - 4);
  EXPECT_EQ(tune_bench(request).benchmarks[0].runs, 1U);
  request.type = kernels::Type::kBf16;
  EXPECT_EQ(bench_code(request), "O1741");
}

TEST(TuneBench, ALayersMeasurementsAreReadAndChosenFromAndTheChoiceRuns) {
  const Folder folder;
  TuneBenchRequest request = small_bench(folder);
  const TunedBench bench = tune_bench(request);
  ASSERT_EQ(bench.benchmarks.size(), 30U);
  ASSERT_GT(bench.best_ms, 0);
  EXPECT_LE(bench.bound_ms, bench.best_ms);

  const tuning::Graph graph = tuning::encoder_graph(bench.sizes);
  base::Diagnostics warnings;
  const tuning::Measurements read = formats::substation::read_folder(folder.path(), graph, 1, warnings);
  EXPECT_EQ(read.sizes['b'], 2);
  const tuning::Problem problem = tuning::make_problem(graph, read);
  const tuning::Minimum found = tuning::minimize(problem.factors, {});
  ASSERT_TRUE(found.found);
  // Measurements that were made after the best choice can only make a better one.
  EXPECT_LE(tuning::ms(found.cost), bench.best_ms * 1.0001);
  // What was measured is known to the bound, so that it holds for it whatever the machine did meanwhile.
  if (bench.complete) {
    EXPECT_GE(tuning::ms(found.cost), bench.bound_ms * 0.9999);
  }

  tuning::LayoutChoice choice;
  for (std::size_t v = 0; v < graph.variables.size(); ++v) {
    const auto one = static_cast<std::size_t>(problem.class_of[v]);
    std::string layout = problem.layouts[one][static_cast<std::size_t>(found.values[one])];
    choice.layouts[graph.variables[v].name] = layout;
  }
  EXPECT_EQ(tuning::faults_of(graph, choice), std::vector<std::string>{});
}

TEST(TuneBench, EndsInTimeAndGoesOnLater) {
  const Folder folder;
  TuneBenchRequest request = small_bench(folder);
  request.limits.seconds = 0.2;
  const TunedBench cut = tune_bench(request);
  EXPECT_TRUE(cut.ended_early);
  EXPECT_FALSE(cut.complete);
  // How much is measured in so long depends on what else the machine does; what was, is not measured again.
  request.resume = true;
  std::size_t resumed = 0;
  for (int tries = 0; tries < 8 && resumed == 0; ++tries, request.limits.seconds *= 2)
    resumed = tune_bench(request).resumed;
  EXPECT_GT(resumed, 0U);
}

TEST(TuneBench, RefusesSizesAndNamesThatCannotBe) {
  const Folder folder;
  TuneBenchRequest request = small_bench(folder);
  for (const char* sizes : {"H=3,I=32", "B=0", "B", "B=2,B=3", "Z=1", "J=8,K=9", "B=1.5"}) {
    request.sizes = sizes;
    EXPECT_EQ(bench_code(request), "O1742") << sizes;
  }
  request = small_bench(folder);
  request.only = "bdrnl";
  EXPECT_EQ(bench_code(request), "O1743");
}

}  // namespace
}  // namespace orrery::verbs
