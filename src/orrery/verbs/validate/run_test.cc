#include "orrery/verbs/validate/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/orrery/systems.h"

namespace orrery::verbs {
namespace {

const std::string kValidateRunDirectory = ORRERY_SOURCE_DIR "/catalog";

// The shipped tables' predictions, made once.
const ValidatedSet& set(const std::string& name) {
  static const std::vector<ValidatedSet> all = validate_training(kValidateRunDirectory);
  const auto found = std::find_if(all.begin(), all.end(), [&](const ValidatedSet& s) { return s.name == name; });
  if (found == all.end()) throw std::runtime_error(name);
  return *found;
}

double mean_absolute(const std::string& name) {
  return set(name).held_out.mean_absolute;
}

TEST(Validation, VtrainRowsThatNoConstantHasSeenAreWithinEightPercent) {
  EXPECT_GE(set("vtrain_multi").held_out.points, 27u);
  EXPECT_GE(set("vtrain_single").held_out.points, 360u);
  EXPECT_LT(mean_absolute("vtrain_multi"), 0.08);
  EXPECT_LT(mean_absolute("vtrain_single"), 0.08);
}

TEST(Validation, KorthikantiEndToEndIsWithinTwoAndAHalfPercent) {
  EXPECT_EQ(set("korthikanti2022").held_out.points, 10u);
  EXPECT_LT(mean_absolute("korthikanti2022"), 0.025);
}

TEST(Validation, NarayananTableOneIsWithinFourPercent) {
  EXPECT_EQ(set("narayanan2021_table1").held_out.points, 7u);
  EXPECT_LT(mean_absolute("narayanan2021_table1"), 0.04);
}

TEST(Validation, RunsOfOtherLaboratoriesAreWithinFifteenPercentEachOrNameTheCause) {
  for (const char* name : {"megascale2024_table2", "megascale2024_figure9", "llama3_table4", "nemotron4", "mtnlg2022",
                           "deepseek_v3", "dgxc2024_bf16"})
    for (const ValidatedPoint& point : set(name).points) {
      if (std::abs(point.error) < 0.15) continue;
      EXPECT_LT(std::abs(point.error), 0.21)
          << name << ' ' << point.run.row << ": " << point.predicted << " for " << point.run.value;
      EXPECT_FALSE(point.run.note.empty()) << name << ' ' << point.run.row;
    }
}

TEST(Validation, RunsOfOtherLaboratoriesAreWithinFifteenPercentOnAverage) {
  for (const char* name : {"megascale2024_table2", "megascale2024_figure9", "llama3_table4", "nemotron4", "bloom2022",
                           "dgxc2024_bf16", "dgxc2024_fp8"})
    EXPECT_LT(mean_absolute(name), 0.15) << name;
  EXPECT_LT(mean_absolute("megascale2024_table2"), 0.05);
  EXPECT_LT(mean_absolute("dgxc2024_bf16"), 0.08) << "of 35 runs on H100, no constant fitted on any";
  EXPECT_LT(mean_absolute("mtnlg2022"), 0.16);
}

TEST(Validation, RunsOfTodaysSoftwareThatNoConstantHasSeenAreWithinEightPercent) {
  double sum = 0, bias = 0, constant = 0;
  std::size_t rows = 0;
  for (const char* name : {"llmfoundry_a100", "llmfoundry_h100", "nemo_dense", "torchtitan", "flashattention2"}) {
    const ValidatedSet& one = set(name);
    EXPECT_LT(one.held_out.mean_absolute, 0.16) << name;
    // The file's rule: rows counted from 1, odd ones fitted.
    EXPECT_EQ(one.fitted.points, (one.points.size() + 1) / 2) << name;
    const auto held = static_cast<double>(one.held_out.points);
    sum += held * one.held_out.mean_absolute;
    bias += held * one.held_out.bias;
    constant += held * one.constant.mean_absolute;
    rows += one.held_out.points;
  }
  const auto n = static_cast<double>(rows);
  EXPECT_EQ(rows, 100u);
  EXPECT_LT(sum / n, 0.06);
  EXPECT_LT(std::abs(bias / n), 0.03);
  EXPECT_LT(sum, 0.8 * constant) << "a constant utilisation, told the median of each table, is no better";
}

TEST(Validation, DenseRunsOfNemoThatNoConstantHasSeenAreWithinEightPercentInFourBitsAndInEight) {
  const ValidatedSet& held = set("nemo_held");
  EXPECT_EQ(held.held_out.points, 12u);
  EXPECT_LT(held.held_out.mean_absolute, 0.08);
  EXPECT_LT(std::abs(held.held_out.bias), 0.03);
  EXPECT_LT(held.held_out.mean_absolute, 0.5 * held.constant.mean_absolute);
}

TEST(Validation, TablesOfTheSameSoftwareThatWereReadAfterwardsAreWithinFivePercent) {
  const ValidatedSet& held = set("llmfoundry_held");
  EXPECT_EQ(held.held_out.points, 86u);
  EXPECT_LT(held.held_out.mean_absolute, 0.05);
  EXPECT_LT(std::abs(held.held_out.bias), 0.03);
  EXPECT_EQ(held.refused, 0u);
}

// The aim is 8 % as well, and missed: docs/model/cluster.md says why. It gets no worse, and errs to no side: neither on
// all 22 rows, whatever their use, nor on the half that the host's operators were not fitted on, nor on other releases.
TEST(Validation, MixturesOfNemoAreNoFurtherOffThanTheDocumentSays) {
  const ValidatedSet& experts = set("nemo_experts");
  std::vector<double> all;
  for (const ValidatedPoint& point : experts.points) all.push_back(point.error);
  EXPECT_EQ(all.size(), 22u);
  EXPECT_LT(summarise(all).mean_absolute, 0.15);
  EXPECT_LT(std::abs(summarise(all).bias), 0.05);
  EXPECT_EQ(experts.held_out.points, 11u);
  EXPECT_LT(experts.held_out.mean_absolute, 0.14);
  EXPECT_LT(std::abs(experts.held_out.bias), 0.05);
  const ValidatedSet& releases = set("nemo_releases");
  EXPECT_EQ(releases.held_out.points, 67u);
  EXPECT_LT(releases.held_out.mean_absolute, 0.16);
  EXPECT_LT(std::abs(releases.held_out.bias), 0.05);
}

TEST(Validation, MemoryIsWithinTenPercentWhereItWasMeasured) {
  EXPECT_EQ(set("torchtitan").memory.points, 20u);
  EXPECT_LT(set("torchtitan").memory.mean_absolute, 0.10);
  // Neither the bytes of a logit nor the allocator's reserve have seen these.
  double sum = 0, rows = 0;
  for (const ValidatedPoint& point : set("torchtitan").points)
    if (point.memory_error && point.run.use == Use::kHeldOut) sum += std::abs(*point.memory_error), ++rows;
  EXPECT_EQ(rows, 10);
  EXPECT_LT(sum / rows, 0.10);
}

TEST(Validation, OfTheRunsOfTodaysSoftwareAtMostTwoPercentAreSaidNotToFit) {
  std::size_t refused = 0, rows = 0;
  for (const char* name : {"llmfoundry_a100", "llmfoundry_h100", "nemo_dense", "torchtitan", "flashattention2"})
    refused += set(name).refused, rows += set(name).points.size();
  EXPECT_EQ(rows, 200u);
  EXPECT_LE(static_cast<double>(refused), 0.02 * static_cast<double>(rows));
}

TEST(Validation, DeepSeekV3sOwnPlanFitsAndIsPredictedWithinElevenPercent) {
  EXPECT_EQ(set("deepseek_v3").refused, 0u);
  for (const ValidatedPoint& point : set("deepseek_v3").points) {
    EXPECT_EQ(point.run.plan.schedule, cluster::Schedule::kDualPipe);
    EXPECT_LT(std::abs(point.error), 0.11) << point.run.row;
  }
}

TEST(Validation, RunsOnTpusAreWithinEightPercent) {
  EXPECT_EQ(set("maxtext").held_out.points, 7u);
  EXPECT_LT(set("maxtext").held_out.mean_absolute, 0.08);
  EXPECT_LT(set("maxtext").fitted.mean_absolute, 0.08);
}

// Rings over hundreds of ranks; none is held out, for the form of overlap was chosen on them.
TEST(Validation, ShardedRunsOnManyNodesAreNoFurtherOffThanTheDocumentSays) {
  EXPECT_EQ(set("modalities_mn5").fitted.points, 124u);
  EXPECT_LT(set("modalities_mn5").fitted.mean_absolute, 0.10);
  EXPECT_EQ(set("modalities_leonardo").fitted.points, 53u);
  EXPECT_LT(set("modalities_leonardo").fitted.mean_absolute, 0.17);
}

TEST(Validation, MeasuredRunsFitButForThoseThatTheDocumentNames) {
  std::set<std::pair<std::string, std::string>> lacking;
  for (const ValidatedSet& each : validate_training(kValidateRunDirectory))
    for (const ValidatedPoint& point : each.points)
      if (!point.iteration.fits) lacking.emplace(each.name, point.run.row);
  const std::set<std::pair<std::string, std::string>> named = {{"dgxc2024_bf16", "nemotron4 340B bf16 128"},
                                                               {"flashattention2", "2.7B 8k flash"},
                                                               {"llama3_table4", "1"},
                                                               {"llama3_table4", "2"},
                                                               {"llama3_table4", "3"},
                                                               {"narayanan2021_zero3", "4"},
                                                               {"nemo_dense", "25.11 GB200 LLAMA3-405B fp8 g256"},
                                                               {"nemo_dense", "25.11 GB200 LLAMA3-70B fp8 g64 fsdp"}};
  EXPECT_EQ(lacking, named);
}

TEST(Validation, ARowUsedForFittingNeverCounts) {
  const ValidatedSet& multi = set("vtrain_multi");
  const auto count = [&](Use use) {
    return static_cast<std::size_t>(std::count_if(multi.points.begin(), multi.points.end(),
                                                  [&](const ValidatedPoint& p) { return p.run.use == use; }));
  };
  EXPECT_EQ(multi.held_out.points, count(Use::kHeldOut));
  EXPECT_EQ(multi.fitted.points, count(Use::kFitted));
  EXPECT_EQ(multi.held_out.points + multi.fitted.points, 55u);
  for (const char* name : {"korthikanti2022", "narayanan2021_table1", "megascale2024_table2", "mtnlg2022"})
    EXPECT_EQ(set(name).fitted.points, 0u) << name;
}

TEST(Validation, UnverifiedRowsAreShownAndNeverCount) {
  const ValidatedSet& deepseek = set("deepseek_v3");
  EXPECT_EQ(deepseek.points.size(), deepseek.held_out.points + 1);
}

TEST(Validation, PointsComeWorstFirst) {
  const ValidatedSet& single = set("vtrain_single");
  for (std::size_t i = 1; i < single.points.size(); ++i)
    EXPECT_GE(std::abs(single.points[i - 1].error), std::abs(single.points[i].error));
}

TEST(Validation, EverySetNamesItsSourceAndLicence) {
  for (const MeasuredSet& set : read_measured(kValidateRunDirectory)) {
    EXPECT_FALSE(set.title.empty()) << set.name;
    EXPECT_FALSE(set.source.empty()) << set.name;
    EXPECT_FALSE(set.licence.empty()) << set.name;
    EXPECT_FALSE(set.runs.empty()) << set.name;
  }
}

TEST(Summary, OfNothingIsZeroAndOfErrorsTheirMoments) {
  EXPECT_EQ(summarise({}).mean_absolute, 0);
  const ErrorSummary summary = summarise({0.1, -0.3, 0.2, 0});
  EXPECT_DOUBLE_EQ(summary.mean_absolute, 0.15);
  EXPECT_DOUBLE_EQ(summary.median_absolute, 0.15);
  EXPECT_NEAR(summary.bias, 0, 1e-15);
  EXPECT_DOUBLE_EQ(summary.worst, 0.3);
}

// A catalogue of one table, with the real models and systems.
class BrokenTable : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* kind : {"models", "systems", "stacks"})
      std::filesystem::create_directory_symlink(kValidateRunDirectory + "/" + kind, folder_.path() / kind);
  }

  std::vector<std::string> codes(const std::string& table) {
    folder_.write("validation/mine.csv", "# title: t\n# source: s\n# licence: l\n" + table);
    return base::codes_of([&] { validate_training(folder_.string()); });
  }

  base::Folder folder_;
};

const std::string kHeader = "row,use,model,system,measure,value,plan.gpus,plan.tp\n";

TEST_F(BrokenTable, AGoodOneIsTaken) {
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,iteration_s,1,8,8\n"), std::vector<std::string>{});
}

TEST_F(BrokenTable, IsRefusedWithItsCode) {
  const std::vector<std::string> refused = {"O1358"};
  EXPECT_EQ(codes(kHeader + "1,perhaps,gpt3-6.7b,a100-selene,iteration_s,1,8,8\n"), refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,seconds,1,8,8\n"), refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,iteration_s,fast,8,8\n"), refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,iteration_s,0,8,8\n"), refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,iteration_s,1,8\n"), refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.8b,a100-selene,iteration_s,1,8,8\n"), refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,iteration_s,1,8,eight\n"), refused);
  EXPECT_EQ(codes("row,use,model,system,measure,value,plan.gps\n1,held-out,gpt3-6.7b,a100-selene,iteration_s,1,8\n"),
            refused);
  EXPECT_EQ(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selen,iteration_s,1,8,8\n"), std::vector<std::string>{"O1350"});
  const std::string schedules =
      "row,use,model,system,measure,value,plan.gpus,plan.pp,plan.global_batch,plan.schedule,plan.interleave\n";
  const std::string row = "1,held-out,gpt3-6.7b,a100-selene,iteration_s,1,8,8,8,interleaved,";
  EXPECT_EQ(codes(schedules + row + "1\n"), refused) << "one chunk is another schedule";
  EXPECT_EQ(codes(schedules + row + "2\n"), std::vector<std::string>{});
  EXPECT_FALSE(codes(kHeader + "1,held-out,gpt3-6.7b,a100-selene,iteration_s,1,8,3\n").empty()) << "3 x 1 is not 8";
}

TEST(MeasuredTables, UnknownNamesComeWithTheNearest) {
  const auto errors = base::refused([&] { read_measured(kValidateRunDirectory, {"vtrain_mult"}); });
  EXPECT_EQ(errors.at(0).code, "O1359");
  EXPECT_NE(errors.at(0).hints.at(0).find("vtrain_multi"), std::string::npos);
}

}  // namespace
}  // namespace orrery::verbs
