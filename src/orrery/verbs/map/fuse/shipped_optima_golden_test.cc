// AccelForge's own reference optima: the figures that its tests compare with, for the files that it ships.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/map/fuse/run.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

const fs::path kFused = base::kShared / "goldens" / "fused";
// Its figures are of 32 bits.
constexpr double kPrecision = 1e-6;

void expect_near(double ours, double theirs, const std::string& what) {
  EXPECT_LE(std::abs(ours - theirs), kPrecision * std::abs(theirs)) << what << ": " << ours << " for " << theirs;
}

std::string workload_path(const std::string& name) {
  for (const auto& entry : fs::recursive_directory_iterator(kFused / "accelforge_inputs" / "workloads"))
    if (entry.is_regular_file() && entry.path().stem() == name) return entry.path().string();
  return "";
}

nlohmann::json read_json(const fs::path& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

// "chip|workload|NAME=VALUE,...|fused".
TEST(ShippedOptima, AreFoundAndProven) {
  if (!fs::exists(kFused)) GTEST_SKIP() << "the reference figures are not at hand";
  const nlohmann::json all = read_json(kFused / "accelforge_inputs" / "regression_reference.json");
  int compared = 0;
  for (const auto& [key, expected] : all.items()) {
    const auto parts = base::split(std::string_view(key), '|');
    ASSERT_EQ(parts.size(), 4u) << key;
    if (parts[1] == "mobilenet_28") continue;  // windows
    BlockRequest request;
    request.files = {(kFused / "accelforge_inputs" / (std::string(parts[0]) + ".yaml")).string(),
                     workload_path(std::string(parts[1]))};
    for (const std::string_view define : base::split(parts[2], ',')) {
      if (define.empty()) continue;
      const std::size_t equals = define.find('=');
      request.templates.defined.push_back(
          {std::string(define.substr(0, equals)), std::string(define.substr(equals + 1))});
    }
    request.search.fused_loops = 1;
    request.search.fuse = parts[3] == "fused";
    request.search.goal = parts[0] == "snowcat" ? fused::Goal::kEnergy : fused::Goal::kEdp;
    const BlockAnswer answer = map_fused_block(request);
    ASSERT_TRUE(answer.best.has_value()) << key;
    EXPECT_TRUE(answer.certificate.optimal) << key;
    expect_near(answer.best->energy, expected["energy"].get<double>(), key + ", energy");
    expect_near(answer.best->latency, expected["latency"].get<double>(), key + ", latency");
    ++compared;
  }
  EXPECT_EQ(compared, 45);
}

// Runs of AccelForge on chips and workloads of ours.
TEST(ShippedOptima, RunsOfAccelForgeAreMet) {
  if (!fs::exists(kFused)) GTEST_SKIP() << "the reference figures are not at hand";
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(kFused)) {
    if (!fs::exists(entry.path() / "result.json")) continue;
    const nlohmann::json run = read_json(entry.path() / "result.json");
    const std::string name = entry.path().filename().string();
    BlockRequest request;
    request.files = {(entry.path() / "arch.yaml").string(), (entry.path() / "workload.yaml").string()};
    request.templates.folders = {(kFused / "accelforge_inputs" / "workloads" / "transformers" / "gpt").string()};
    for (const auto& [define, value] : run["parameters"].items()) {
      const std::string text = value.is_boolean() ? (value.get<bool>() ? "True" : "False") : value.dump();
      request.templates.defined.push_back({define, text});
    }
    const std::string loops = run["max_fused_loops"];
    request.search.fused_loops = loops == "inf" ? -1 : std::stoi(loops);
    request.search.goal = run["metric"] == "energy" ? fused::Goal::kEnergy : fused::Goal::kEdp;
    const BlockAnswer answer = map_fused_block(request);
    ASSERT_TRUE(answer.best.has_value()) << name;
    const nlohmann::json& point = run["points"][0];
    expect_near(answer.best->energy, point["Total | energy"].get<double>(), name + ", energy");
    // Trees of equal energy may differ in time where energy alone is made least.
    if (run["metric"] != "energy")
      expect_near(answer.best->latency, point["Total | latency"].get<double>(), name + ", latency");
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

}  // namespace
}  // namespace orrery::verbs
