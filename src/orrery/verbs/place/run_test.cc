#include "orrery/verbs/place/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <source_dir.h>

namespace orrery::verbs {
namespace {

const std::string kExamples = std::string(ORRERY_SOURCE_DIR) + "/examples/dataflow/";

PlacedGraph example(const std::string& file, base::Overrides overrides = {}) {
  PlaceRequest request;
  request.path = kExamples + file;
  request.overrides = std::move(overrides);
  return place(request);
}

TEST(Place, MeasuredProductsGoBeforeThePeak) {
  const auto path = std::filesystem::temp_directory_path() / "orrery_place_test_timings.csv";
  // A chip's part of FFN0 in tiles of eight tokens: 256 tiles of a millisecond each.
  std::ofstream(path) << "m,n,k,seconds\n12800,8,25600,1e-3\n";
  PlaceRequest request;
  request.path = kExamples + "gpt3_1t.txt";
  request.overrides = {{"execution.llm.tile_size", "8"}};
  const double peak = place(request).placement.evaluation.sum_interval_ns;
  request.measurements = path.string();
  const double measured = place(request).placement.evaluation.sum_interval_ns;
  std::filesystem::remove(path);
  EXPECT_LT(peak, 25e6);
  EXPECT_GT(measured, 256e6);
}

TEST(Place, WhatFitsNowhereIsBlamedOnLinesOfTheFileOrOnTheOption) {
  const PlacedGraph placed = example("gpt3_175b.txt", {{"system.accelerator.sram_cap", "3e8"}});
  EXPECT_FALSE(placed.placement.mapping);
  const std::vector<base::Diagnostic> reasons = explain_no_placement(placed);
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].primary.where.file->name, "<--set system.accelerator.sram_cap>");
  ASSERT_FALSE(reasons[0].secondary.empty());
  EXPECT_EQ(reasons[0].secondary[0].where.file->name, kExamples + "gpt3_175b.txt");
}

TEST(Place, APinThatLeavesNoRoomIsNamedEvenIfOtherTilesWouldNotFitWithoutIt) {
  const PlacedGraph placed = example("gpt3_1t.txt", {{"dataflow_graph.kernels.FFN0.config", "2"}});
  EXPECT_FALSE(placed.placement.mapping);
  const std::vector<base::Diagnostic> reasons = explain_no_placement(placed);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].code, "O1450");
  const std::vector<std::string>& notes = reasons[0].notes;
  EXPECT_NE(std::find(notes.begin(), notes.end(), "kernels are pinned: 14 `FFN0` to 2"), notes.end());
}

TEST(Place, O1461WhenTheSearchEndedBeforeItKnew) {
  const PlacedGraph nothing;
  const std::vector<base::Diagnostic> reasons = explain_no_placement(nothing);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].code, "O1461");
}

TEST(Place, ACheckSaysWhatASetupHolds) {
  const CheckedSetup checked = check_setup(kExamples + "gpt3_1t.txt");
  EXPECT_EQ(checked.contents, (std::vector<std::string>{"setup: language model, 128 layers: 41 kernels, 53 connections",
                                                        "system: 1024 accelerators of 614.4 TFLOP/s, 8 x 128"}));
  EXPECT_THROW(check_setup(kExamples + "gpt3_1t.txt", {{"system.num_chip", "512"}}), base::InputError);
}

TEST(Place, TheAnswerDoesNotDependOnThreads) {
  PlaceRequest request;
  request.path = kExamples + "gpt3_175b.txt";
  request.limits.threads = 1;
  const PlacedGraph one = place(request);
  request.limits.threads = 4;
  const PlacedGraph four = place(request);
  EXPECT_EQ(one.placement.evaluation.final_ns, four.placement.evaluation.final_ns);
  EXPECT_EQ(one.placement.mapping->configuration, four.placement.mapping->configuration);
  EXPECT_EQ(one.placement.mapping->tiles, four.placement.mapping->tiles);
}

}  // namespace
}  // namespace orrery::verbs
