// DFModel's published runs, from its own files: every figure of their logs that is exact, and the proven optimum where
// the log is only what a solver had found. Placements are given here; that they are found is tested where files are
// placed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "orrery/base/text/files_test_util.h"
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/formats/dfmodel/goldens_test_util.h"
#include "orrery/formats/dfmodel/setup_document.h"

namespace orrery::formats::dfmodel {
namespace {

namespace fs = std::filesystem;
using base::Count;

struct Published {
  std::string name;
  dataflow::Degrees degrees;
  std::vector<Count> tiles;        // the best of these
  std::vector<int> configuration;  // last kernel of each, from 1; empty: one kernel each
  std::vector<int> moved;          // kernels (from 1) that leave their run for the next to last configuration
};

const std::vector<Published>& published_placements() {
  const std::vector<Count> powers = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
  const auto on = [](Count tensor, Count pipeline, Count data, std::vector<Count> sizes) {
    dataflow::Degrees degrees;
    degrees.tensor = tensor;
    degrees.pipeline = pipeline;
    degrees.data = data;
    degrees.sizes = std::move(sizes);
    return degrees;
  };
  static const std::vector<Published> cases = {
      {"dlrm_I_a100_r_fc_8x16_kbk", on(1, 1, 128, {8, 16}), {1}, {}, {}},
      {"fft_a100_sw_sw_256", on(1, 1, 1, {8, 32}), {1}, {}, {}},
      {"fft_a100_sw_sw_512", on(1, 1, 1, {8, 64}), {1}, {}, {}},
      {"fft_a100_sw_sw_1024", on(1, 1, 1, {8, 128}), {1}, {}, {}},
      {"fft_a100_sw_sw_4096", on(1, 1, 1, {8, 512}), {1}, {}, {}},
      {"hpl_Circe_sw_sw", on(1, 1, 1, {24, 24}), {1}, {}, {}},
      {"hpl_Eos_sw_sw", on(1, 1, 1, {86, 86}), {1}, {}, {}},
      {"llm13b_sn10_r_dp16_seq2048_kbk", on(1, 1, 16, {16}), {2048}, {}, {}},
      {"llm175b_sn10_4x2_df5", on(4, 1, 2, {4, 2}), {32}, {0, 4, 10, 14, 18}, {}},
      {"llm175b_sn10_8x1_df4", on(8, 1, 1, {8}), {16}, {0, 0, 13, 18}, {}},
      {"llm175b_sn10_8x1_kbk", on(8, 1, 1, {8}), powers, {}, {}},
      {"llm175b_sn10_8x1_vendor_df4", on(8, 1, 1, {8}), {4}, {5, 12, 14, 18}, {}},
      {"llm1t_a100_megatron_r_r_r_kbk_nooverlap", on(8, 64, 6, {8, 64, 6}), {2048}, {}, {}},
      {"llm1t_sn30_r_r_ddr_pcie_df6", on(8, 128, 1, {8, 128}), {2048}, {13, 14, 18, 21, 24, 41}, {36}},
      {"serving_genz_decode_8x", on(12, 1, 1, {12}), {1}, {20}, {}},
      {"ssm_attn_256k_rdu_df1", on(1, 1, 1, {1}), {21846}, {8}, {}},
  };
  return cases;
}

dataflow::Mapping mapping(const Published& run, std::size_t kernels, Count tiles) {
  dataflow::Mapping result;
  result.degrees = run.degrees;
  result.tiles = tiles;
  result.sharding = dataflow::cases::published_sharding(kernels);
  for (int i = 0; i < static_cast<int>(kernels); ++i) {
    const auto end = std::lower_bound(run.configuration.begin(), run.configuration.end(), i + 1);
    int place = run.configuration.empty() ? i : static_cast<int>(end - run.configuration.begin());
    if (std::count(run.moved.begin(), run.moved.end(), i + 1) > 0) --place;
    result.configuration.push_back(place);
  }
  return result;
}

struct PricedRun {
  nlohmann::json expected;
  std::map<std::string, double> log;
  dataflow::Evaluation found;
};

// "name value" or "name[i] value"; anything else, a list or a remark, is passed over.
std::map<std::string, double> log_of(const std::string& text) {
  std::map<std::string, double> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    char* end = nullptr;
    const double value = std::strtod(line.c_str() + space + 1, &end);
    if (*end == '\0') result[line.substr(0, space)] = value;
  }
  return result;
}

PricedRun run_of(const Published& run) {
  PricedRun result;
  const fs::path folder = kGoldens / run.name;
  result.expected = nlohmann::json::parse(base::contents(folder / "expected.json"));
  result.log = log_of(base::contents(folder / "log.txt"));
  const dataflow::Setup setup = load_setup((folder / "setup.txt").string()).setup;
  result.found.final_ns = INFINITY;
  result.found.partition.feasible = false;
  for (const Count tiles : run.tiles) {
    dataflow::Evaluation e = dataflow::evaluate(
        setup, mapping(run, setup.graph.kernels.size(), tiles),
        base::defects_of(dataflow::kDefects, result.expected.at("compat_generation").get<std::string>()));
    if (e.partition.feasible && e.final_ns < result.found.final_ns) result.found = std::move(e);
  }
  return result;
}

class PlaceGolden : public ::testing::TestWithParam<Published> {
 protected:
  void SetUp() override { ORRERY_NEEDS_SHARED(); }
};

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << what;
}

TEST_P(PlaceGolden, ReproducesTimeUtilisationCostPowerAndFlop) {
  const PricedRun run = run_of(GetParam());
  EXPECT_TRUE(run.found.partition.feasible) << run.found.partition.first_violation;
  expect_near(run.found.final_ns, run.expected.at("exact_optimum_final_ns"), "time");
  expect_near(run.found.flops_utilization, run.expected.at("exact_util"), "utilisation");
  expect_near(run.found.money.total_cost(), run.expected.at("total_cost"), "cost");
  expect_near(run.found.money.total_power(), run.expected.at("total_power"), "power");
  expect_near(run.found.flop, run.expected.at("workload_flop"), "FLOP");
  EXPECT_LE(run.found.final_ns, run.expected.at("log_final_ns").get<double>() * (1 + 1e-9));
}

TEST_P(PlaceGolden, ReproducesTheLinesOfTheLog) {
  const PricedRun run = run_of(GetParam());
  const dataflow::PlacementMoney& money = run.found.money;
  const std::map<std::string, double> lines = {
      {"pipeline_factor", run.found.pipeline_factor}, {"p2p_latency", run.found.point_to_point_ns},
      {"total_DRAM_cost", money.dram_cost},           {"total_accelerator_cost", money.accelerator_cost},
      {"total_link_cost", money.link_cost},           {"total_switch_cost", money.switch_cost},
      {"total_DRAM_power", money.dram_power},         {"total_accelerator_power", money.accelerator_power},
      {"total_link_power", money.link_power},         {"total_switch_power", money.switch_power}};
  for (const auto& [name, value] : lines)
    if (run.log.count(name) > 0) expect_near(value, run.log.at(name), name);
  for (std::size_t j = 0; j < money.link_cost_by_dimension.size(); ++j) {
    const std::string index = "[" + std::to_string(j) + "]";
    if (run.log.count("LINK_cost" + index) == 0) continue;
    expect_near(money.link_cost_by_dimension[j], run.log.at("LINK_cost" + index), "LINK_cost" + index);
    expect_near(money.switch_cost_by_dimension[j], run.log.at("SWITCH_cost" + index), "SWITCH_cost" + index);
  }
  if (run.expected.at("match") != "exact") return;
  if (run.log.count("all_config_II") > 0)
    expect_near(run.found.sum_interval_ns, run.log.at("all_config_II"), "all_config_II");
  if (!GetParam().configuration.empty() && GetParam().configuration.size() > 1) return;  // other schedules tie
  for (std::size_t c = 0; c < run.found.partition.configurations.size(); ++c) {
    const std::string name = "Per_Config_II[" + std::to_string(c) + "]";
    if (run.log.count(name) > 0) expect_near(run.found.partition.configurations[c].interval_ns, run.log.at(name), name);
  }
}

INSTANTIATE_TEST_SUITE_P(Dfmodel, PlaceGolden, ::testing::ValuesIn(published_placements()),
                         [](const auto& run) { return run.param.name; });

}  // namespace
}  // namespace orrery::formats::dfmodel
