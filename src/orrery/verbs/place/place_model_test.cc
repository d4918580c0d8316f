// A model on a system of the catalogue, placed without a setup file.
#include "orrery/verbs/place/place_model.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/inputs/systems/system_chip.h"
#include "orrery/verbs/place/place_files.h"
#include "orrery/verbs/place/run.h"

namespace orrery::verbs {
namespace {

using dataflow::Link;

PlaceRequest llama(const std::string& system, base::Count gpus) {
  PlaceRequest request;
  request.model.model = "llama3-8b";
  request.model.system = system;
  request.model.gpus = gpus;
  request.model.global_batch = gpus;
  return request;
}

// What was placed. A question without a placement fails the test: its time would be 0, below any bound.
PlacedGraph placed(const PlaceRequest& request) {
  PlacedGraph answer = place(request);
  EXPECT_TRUE(answer.placement.mapping) << "nothing was placed";
  return answer;
}

double placed_ns(const PlaceRequest& request) {
  const double ns = placed(request).placement.evaluation.final_ns;
  EXPECT_GT(ns, 0);
  return ns;
}

TEST(PlaceModel, AnAcceleratorsCoresMakeItsPeakAtAClockOfOneToTwoGigahertz) {
  for (const char* system : {"dgx-h100", "v100-dgx1", "mi300x", "tpu-v4", "a100-selene"}) {
    const PlacedModelQuestion question = place_model(llama(system, 4).model, {});
    const machine::CoreArray& cores = question.setup.system.cores;
    const double peak = question.system.accelerator.peak(machine::Precision::kBf16);
    EXPECT_NEAR(cores.gflops() * 1e9, peak, 1e-9 * peak) << system;
    EXPECT_GE(cores.frequency_ghz, 1) << system;
    EXPECT_LT(cores.frequency_ghz, 2) << system;
  }
}

TEST(PlaceModel, ANodeIsADimensionAndTheSwitchBetweenNodesTwo) {
  const PlacedModelQuestion nodes = place_model(llama("dgx-h100", 64).model, {});
  const auto& network = nodes.setup.system.network;
  ASSERT_EQ(network.size(), 3u);
  EXPECT_EQ(network[0].size, 8);
  EXPECT_EQ(network[1].size, 0);
  for (int d = 0; d < 3; ++d) {
    EXPECT_EQ(network[d].link, Link::kSwitch);
    EXPECT_DOUBLE_EQ(network[d].bandwidth_gb_per_s, nodes.system.fabric.levels[d == 0 ? 0 : 1].rate() / 1e9);
  }
  // A chip of a torus has two links for each of its three axes.
  const PlacedModelQuestion torus = place_model(llama("tpu-v4", 64).model, {});
  ASSERT_EQ(torus.setup.system.network.size(), 3u);
  EXPECT_EQ(torus.setup.system.network[2].link, Link::kRing);
  EXPECT_DOUBLE_EQ(torus.setup.system.network[2].bandwidth_gb_per_s, torus.system.fabric.levels[0].rate() / 6e9);
}

TEST(PlaceModel, WhatIsMissingIsNamedAllAtOnceAndTwoQuestionsAreRefused) {
  PlaceRequest request;
  EXPECT_EQ(base::codes_of([&] { place(request); }), (std::vector<std::string>{"O1465"}));
  request.model.chip = "tpu-v4i";
  EXPECT_EQ(base::codes_of([&] { place(request); }), (std::vector<std::string>(4, "O1465")));
  request = llama("dgx-h100", 8);
  request.path = "setup.txt";
  EXPECT_EQ(base::codes_of([&] { place(request); }), (std::vector<std::string>{"O1465"}));
  EXPECT_EQ(base::codes_of([&] { place(llama("dgx-h100", 12)); }), (std::vector<std::string>{"O1466"}));
  EXPECT_EQ(base::codes_of([&] { place(llama("tpu-v4", 8192)); }), (std::vector<std::string>{"O1466"}));
}

TEST(PlaceModel, MoreAcceleratorsOrFasterMemoryNeverPlaceAModelWorse) {
  double before = std::numeric_limits<double>::infinity();
  for (const base::Count gpus : {8, 16, 32}) {
    PlaceRequest request = llama("dgx-h100", gpus);
    request.model.global_batch = 64;
    const double ns = placed_ns(request);
    EXPECT_LE(ns, before * (1 + 1e-9)) << gpus;
    before = ns;
  }
  before = std::numeric_limits<double>::infinity();
  for (const char* bandwidth : {"1000", "2000", "4000"}) {
    PlaceRequest request = llama("dgx-h100", 8);
    request.overrides = {{"system.memory.dram_bw", bandwidth}};
    const double ns = placed_ns(request);
    EXPECT_LE(ns, before * (1 + 1e-9)) << bandwidth;
    before = ns;
  }
}

// What one kernel takes when it is placed, and what `train` says of the same product.
TEST(PlaceModel, AKernelThatRunsByItselfTakesWhatTheRooflineOfTrainSays) {
  PlaceRequest request = llama("dgx-h100", 8);
  request.model.tp = 1;
  request.model.pp = 1;
  const PlacedModelQuestion question = place_model(request.model, {});
  const machine::Roofline roofline(question.system.accelerator);
  const PlacedGraph placed = place(request);
  ASSERT_TRUE(placed.placement.mapping);
  EXPECT_EQ(placed.placement.mapping->tiles, 1);
  int compared = 0;
  for (const auto& configuration : placed.placement.evaluation.partition.configurations) {
    ASSERT_EQ(configuration.kernels.size(), 1U);
    const workload::Kernel& kernel = placed.setup.graph.kernels[static_cast<std::size_t>(configuration.kernels[0])];
    if (!kernel.has_weight()) continue;
    const double seconds = roofline.matrix_product_seconds({1, kernel.outer * kernel.m, kernel.n, kernel.k});
    EXPECT_NEAR(configuration.compute_ns, 1e9 * seconds, 1e-6 * configuration.compute_ns) << kernel.name;
    EXPECT_GE(configuration.interval_ns, configuration.compute_ns) << kernel.name;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

TEST(PlaceModel, TilesOfTheCacheNeverMakeAKernelFaster) {
  const double whole = placed_ns(llama("dgx-h100", 8));
  PlaceRequest request = llama("dgx-h100", 8);
  request.overrides = {{"execution.whole_kernels", "false"}};
  const PlacedGraph tiled = place(request);
  ASSERT_TRUE(tiled.placement.mapping);
  EXPECT_GT(tiled.placement.mapping->tiles, 1);
  EXPECT_GE(tiled.placement.evaluation.final_ns, whole * (1 - 1e-9));
}

// What is placed again from the setup that was written takes as long.
void expect_the_same_again(const PlaceRequest& request, const char* what) {
  const base::Folder folder;
  const PlacedGraph placed = place(request);
  ASSERT_TRUE(placed.placement.mapping) << what;
  PlaceRequest again;
  again.path = folder.write("setup.txt", pinned_setup(placed));
  const PlacedGraph reread = place(again);
  ASSERT_TRUE(reread.placement.mapping) << what;
  const double ns = placed.placement.evaluation.final_ns;
  EXPECT_NEAR(reread.placement.evaluation.final_ns, ns, 1e-9 * ns) << what;
  const auto& first = placed.placement.evaluation.partition.configurations;
  const auto& second = reread.placement.evaluation.partition.configurations;
  ASSERT_EQ(first.size(), second.size()) << what;
  for (std::size_t c = 0; c < first.size(); ++c)
    EXPECT_NEAR(second[c].compute_ns, first[c].compute_ns, 1e-9 * first[c].compute_ns) << what << ", " << c;
}

TEST(PlaceModel, AWrittenSetupIsTimedAsTheModelWas) {
  PlaceRequest request = llama("dgx-h100", 16);
  expect_the_same_again(request, "roofline");
  request.model.precision = machine::Precision::kFp8;
  expect_the_same_again(request, "fp8");
  request.model.precision.reset();
  request.overrides = {{"execution.execution_style", "DATAFLOW"}, {"execution.num_config", "10"}};
  request.model.seq = 512;
  expect_the_same_again(request, "fused");
  request.overrides = {{"arch.HBM.depth", "274877906944"}};
  request.model.chip = "tpu-v4i";
  expect_the_same_again(request, "chip");
}

TEST(PlaceModel, DegreesThatAreGivenHold) {
  PlaceRequest request = llama("dgx-h100", 64);
  const double free = placed_ns(request);
  request.model.tp = 8;
  request.model.pp = 4;
  const PlacedGraph fixed = place(request);
  ASSERT_TRUE(fixed.placement.mapping);
  EXPECT_EQ(fixed.placement.mapping->degrees.tensor, 8);
  EXPECT_EQ(fixed.placement.mapping->degrees.pipeline, 4);
  EXPECT_EQ(fixed.placement.mapping->degrees.data, 2);
  EXPECT_GE(fixed.placement.evaluation.final_ns, free * (1 - 1e-9));
  request.model.dp = 2;
  request.model.gpus.reset();
  EXPECT_EQ(place(request).setup.system.chips, 64) << "the product of the degrees";
  request.model.gpus = 32;
  EXPECT_EQ(base::codes_of([&] { place(request); }), base::Codes{"O1305"}) << "as train says";
  request = llama("dgx-h100", 64);
  request.model.tp = 16;
  EXPECT_EQ(base::codes_of([&] { place(request); }), base::Codes{"O1455"}) << "no dimension of the network is 16";
  request.model.tp = 3;
  EXPECT_EQ(base::codes_of([&] { place(request); }), (base::Codes{"O1305", "O1307", "O1372"}));
}

TEST(PlaceModel, NarrowerNumbersNeverTakeLonger) {
  PlaceRequest request = llama("dgx-h100", 8);
  double before = std::numeric_limits<double>::infinity();
  for (const machine::Precision precision :
       {machine::Precision::kFp32, machine::Precision::kTf32, machine::Precision::kBf16, machine::Precision::kFp8}) {
    request.model.precision = precision;
    const double ns = placed_ns(request);
    EXPECT_LE(ns, before) << machine::name(precision);
    before = ns;
  }
  request = llama("a100-selene", 8);
  request.model.precision = machine::Precision::kFp8;
  EXPECT_EQ(base::codes_of([&] { place(request); }), base::Codes{"O1316"}) << "as train says";
}

TEST(PlaceModel, ProductsWithoutAProofLeaveThePlacementWithoutOne) {
  PlaceRequest request = llama("dgx-h100", 64);
  request.model.chip = "many-core";
  request.model.seq = 1000;
  request.limits.memory = std::size_t{1} << 20;
  const PlacedGraph placed = place(request);
  ASSERT_TRUE(placed.placement.mapping);
  const auto& all = placed.warnings.all();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const base::Diagnostic& one) { return one.code == "O1395"; }));
  EXPECT_FALSE(placed.placement.certificate.optimal);
  EXPECT_GT(placed.placement.certificate.gap, 0);
  EXPECT_LT(placed.placement.certificate.lower_bound, placed.placement.evaluation.final_ns);
}

TEST(PlaceModel, WhatNobodyReadsOfTheSetupIsRefused) {
  for (const char* path : {"system.accelerator.core", "system.accelerator.systolic_width", "system.accelerator.freq",
                           "system.accelerator.systolic_height", "execution.compute_util"}) {
    PlaceRequest request = llama("dgx-h100", 8);
    request.overrides = {{path, "1"}};
    EXPECT_EQ(base::codes_of([&] { place(request); }), (std::vector<std::string>{"O1393"})) << path;
  }
  PlaceRequest chip = llama("dgx-h100", 8);
  chip.model.chip = "tpu-v4i";
  chip.overrides = {{"system.memory.dram_bw", "100"}};
  EXPECT_EQ(base::codes_of([&] { place(chip); }), (std::vector<std::string>{"O1393"}));
}

TEST(PlaceModel, ProductsThatATableLacksAreTimedAsWithoutIt) {
  const base::Folder folder;
  const std::string table = folder.write("one.csv", "m,n,k,seconds\n7,7,7,1e-3\n");
  for (const char* chip : {"", "tpu-v4i"}) {
    PlaceRequest request = llama("dgx-h100", 8);
    request.model.chip = chip;
    if (*chip != 0) request.overrides = {{"arch.HBM.depth", "274877906944"}};
    const double without = placed_ns(request);
    request.measurements = table;
    EXPECT_DOUBLE_EQ(placed_ns(request), without) << chip;
  }
}

TEST(PlaceModel, LayersOfOtherKindsAreNamedAsLeftOut) {
  const auto partial = [](const char* model) {
    PlaceRequest request = llama("dgx-h100", 8);
    request.model.model = model;
    const PlacedModelQuestion question = place_model(request.model, {});
    const auto& all = question.warnings.all();
    return std::any_of(all.begin(), all.end(), [](const base::Diagnostic& one) { return one.code == "O1469"; });
  };
  EXPECT_TRUE(partial("gemma3-1b"));
  EXPECT_TRUE(partial("deepseek-v3"));
  EXPECT_TRUE(partial(ORRERY_SOURCE_DIR "/tests/fuzz_corpus/huggingface/towers.json"));
  EXPECT_TRUE(partial(ORRERY_SOURCE_DIR "/tests/fuzz_corpus/huggingface/whisper.json"));
  EXPECT_FALSE(partial("llama3-8b"));
  EXPECT_FALSE(partial("mixtral-8x7b"));
}

TEST(PlaceModel, AChipsLoopNestsTimeTheKernelsAndAWiderArrayIsFaster) {
  double before = std::numeric_limits<double>::infinity();
  for (const char* columns : {"64", "128", "256"}) {
    PlaceRequest request = llama("dgx-h100", 8);
    request.model.chip = "tpu-v4i";
    request.overrides = {{"arch.HBM.depth", "274877906944"}, {"arch.Columns.meshX", columns}};
    const PlacedGraph placed = place(request);
    EXPECT_EQ(placed.timed, "chip");
    ASSERT_TRUE(placed.placement.mapping);
    EXPECT_TRUE(placed.placement.certificate.optimal);
    EXPECT_LE(placed.placement.evaluation.flops_utilization, 1);
    EXPECT_LT(placed.placement.evaluation.final_ns, before) << columns;
    before = placed.placement.evaluation.final_ns;
  }
}

std::vector<std::string> warned(const PlacedGraph& placed) {
  std::vector<std::string> codes;
  for (const base::Diagnostic& one : placed.warnings.all()) codes.push_back(one.code);
  return codes;
}

TEST(PlaceModel, WhatTheSystemOrTheChipSaysIsNotOverriddenInTheSetup) {
  for (const char* path : {"system.accelerator.freq", "system.accelerator.core", "execution.compute_util"}) {
    PlaceRequest request = llama("dgx-h100", 8);
    request.overrides = {{path, "1"}};
    EXPECT_EQ(base::codes_of([&] { place(request); }), (std::vector<std::string>{"O1393"})) << path;
  }
  PlaceRequest request = llama("dgx-h100", 8);
  request.model.chip = "tpu-v4i";
  request.overrides = {{"system.memory.dram_bw", "1000"}};
  EXPECT_EQ(base::codes_of([&] { place(request); }), (std::vector<std::string>{"O1393"}));
}

TEST(PlaceModel, AChipOfNarrowWordsIsNamed) {
  PlaceRequest request = llama("dgx-h100", 4);
  EXPECT_EQ(warned(placed(request)), (std::vector<std::string>{}));
  request.model.chip = "tpu-v4i";
  request.model.forward = true;
  const PlacedGraph narrow = placed(request);
  EXPECT_EQ(warned(narrow), (std::vector<std::string>{"O1394"}));
  EXPECT_GT(narrow.searched, 0);
}

TEST(PlaceModel, WhatWasNotMeasuredIsTheChips) {
  const base::Folder folder;
  PlaceRequest request = llama("dgx-h100", 4);
  request.model.chip = "tpu-v4i";
  request.model.forward = true;
  request.measurements = folder.write("gemms.csv", "m,n,k,seconds\n16,16,16,1e-5\n");
  const PlacedGraph measured = placed(request);
  EXPECT_EQ(measured.timed, "measurements");
  EXPECT_GT(measured.searched, 0);
}

TEST(PlaceModel, TheNotesSayWhichLayersArePlaced) {
  PlaceRequest request = llama("dgx-h100", 64);
  request.model.model = "deepseek-v3";
  const PlacedGraph placed = place(request);
  EXPECT_TRUE(std::any_of(placed.notes.begin(), placed.notes.end(), [](const std::string& note) {
    return note.starts_with("this is layer 4; layers are 3 of");
  }));
}

TEST(PlaceModel, AnInterruptIsToldAsOneAndNotAsAShortTimeLimit) {
  PlaceRequest request = llama("dgx-h100", 64);
  request.model.chip = "tpu-v4i";
  const std::atomic<bool> stop{true};
  request.interruptible = [&] { return &stop; };
  const PlacedGraph placed = place(request);
  EXPECT_TRUE(placed.told_to_stop);
  ASSERT_FALSE(placed.placement.mapping);
  const auto why = explain_no_placement(placed);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].code, "O1461");
  EXPECT_NE(why[0].message.find("interrupted"), std::string::npos);
  for (const std::string& hint : why[0].hints) EXPECT_EQ(hint.find("--time-limit"), std::string::npos) << hint;
}

TEST(PlaceModel, OnSeveralNodesTheAnswerSaysThatNoNodeIsDivided) {
  EXPECT_NE(place_model(llama("dgx-h100", 64).model, {}).not_looked_at.find("8 accelerators of a node"),
            std::string::npos);
  EXPECT_EQ(place_model(llama("dgx-h100", 8).model, {}).not_looked_at, "");
}

}  // namespace
}  // namespace orrery::verbs
