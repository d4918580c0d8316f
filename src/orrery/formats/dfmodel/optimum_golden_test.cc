// DFModel's published runs again, from its own files, and with nothing given: the optimum over tiles and partitions is
// found, proven, and is the stated one.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "orrery/base/text/files_test_util.h"
#include "orrery/engines/dataflow/search/optimize.h"
#include "orrery/formats/dfmodel/goldens_test_util.h"
#include "orrery/formats/dfmodel/setup_document.h"

namespace orrery::formats::dfmodel {
namespace {

namespace fs = std::filesystem;
using dataflow::Defects;

std::vector<fs::path> published() {
  std::vector<fs::path> folders;
  if (!fs::exists(kGoldens)) return folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(kGoldens))
    if (fs::exists(entry.path() / "expected.json")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

nlohmann::json expected_of(const fs::path& folder) {
  std::ifstream file(folder / "expected.json");
  return nlohmann::json::parse(file);
}

Defects generation_of(const nlohmann::json& expected) {
  return base::defects_of(dataflow::kDefects, expected.at("compat_generation").get<std::string>());
}

// "name value" of a line of the log; nothing where it is not there.
std::optional<double> logged(const fs::path& folder, const std::string& name) {
  std::ifstream file(folder / "log.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    double value = 0;
    if (words >> first && first == name && words >> value) return value;
  }
  return std::nullopt;
}

double relative(double found, double expected) {
  return std::abs(found - expected) / std::max(1e-300, std::abs(expected));
}

TEST(OptimumGolden, EveryPublishedRunIsSolvedToItsProvenOptimum) {
  const std::vector<fs::path> folders = published();
  ORRERY_NEEDS_SHARED();
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    const nlohmann::json expected = expected_of(folder);
    const dataflow::Setup setup = load_setup(folder.string()).setup;
    const dataflow::Placement found = dataflow::optimize(setup, generation_of(expected));
    ASSERT_TRUE(found.mapping);
    EXPECT_TRUE(found.certificate.optimal);
    EXPECT_EQ(found.certificate.gap, 0);
    EXPECT_FALSE(found.interrupted);
    EXPECT_LT(relative(found.evaluation.final_ns, expected.at("exact_optimum_final_ns")), 1e-9);
    EXPECT_LT(relative(found.evaluation.flops_utilization, expected.at("exact_util")), 1e-9);
    EXPECT_LT(relative(found.evaluation.flop, expected.at("workload_flop")), 1e-9);
    EXPECT_LT(relative(found.evaluation.money.total_cost(), expected.at("total_cost")), 1e-9);
    EXPECT_LT(relative(found.evaluation.money.total_power(), expected.at("total_power")), 1e-9);
    EXPECT_LE(found.evaluation.final_ns, expected.at("log_final_ns").get<double>() * (1 + 1e-9));
    if (expected.at("match") == "exact") {
      if (const auto sum = logged(folder, "all_config_II")) {
        EXPECT_LT(relative(found.evaluation.sum_interval_ns, *sum), 1e-9);
      }
    }
  }
}

TEST(OptimumGolden, TheAnswerDoesNotDependOnThreads) {
  const std::vector<fs::path> folders = published();
  ORRERY_NEEDS_SHARED();
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    const dataflow::Setup setup = load_setup(folder.string()).setup;
    const Defects generation = generation_of(expected_of(folder));
    const dataflow::Placement one = dataflow::optimize(setup, generation);
    const dataflow::Placement three = dataflow::optimize(setup, generation, {{.threads = 3}});
    ASSERT_TRUE(one.mapping && three.mapping);
    EXPECT_EQ(one.mapping->configuration, three.mapping->configuration);
    EXPECT_EQ(one.mapping->tiles, three.mapping->tiles);
    EXPECT_EQ(one.evaluation.final_ns, three.evaluation.final_ns);
    EXPECT_EQ(one.certificate.evaluated, three.certificate.evaluated);
  }
}

}  // namespace
}  // namespace orrery::formats::dfmodel
