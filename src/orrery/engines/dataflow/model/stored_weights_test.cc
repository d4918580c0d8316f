#include "orrery/engines/dataflow/model/stored_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/engines/dataflow/model/lower.h"

namespace orrery::dataflow {
namespace {

using workload::KernelDimension;

workload::KernelGraph layer(workload::Passes passes) {
  return workload::language_model_graph({.hidden = 64, .heads = 4, .ffn = 256}, 32, passes);
}

TEST(StoredWeights, EveryBackwardKernelOfALayerReadsItsForwardKernelsWeight) {
  const workload::KernelGraph graph = layer(workload::Passes::kForwardBackward);
  const std::vector<int> twins = weight_twins(graph);
  int paired = 0;
  for (std::size_t k = 0; k < twins.size(); ++k) {
    const workload::Kernel& kernel = graph.kernels[k];
    const bool reads_again = kernel.has_weight() && kernel.direction == workload::Direction::kBackward;
    ASSERT_EQ(twins[k] >= 0, reads_again) << kernel.name;
    if (twins[k] < 0) continue;
    ++paired;
    EXPECT_EQ(graph.kernels[static_cast<std::size_t>(twins[k])].name + "_bwd", kernel.name);
  }
  EXPECT_EQ(paired, 6);
  for (const int twin : weight_twins(layer(workload::Passes::kBackward)))
    EXPECT_EQ(twin, -1) << "nothing else reads it";
}

TEST(StoredWeights, KernelsOfOtherNamesArePairedBySize) {
  workload::KernelGraph graph = layer(workload::Passes::kForwardBackward);
  for (std::size_t k = 0; k < graph.kernels.size(); ++k) graph.kernels[k].name = "k" + std::to_string(k);
  const std::vector<int> twins = weight_twins(graph);
  EXPECT_EQ(std::count_if(twins.begin(), twins.end(), [](int twin) { return twin >= 0; }), 6);
}

TEST(StoredWeights, TheSamePartIsSharedAndDifferentOnesOverlap) {
  constexpr auto kM = KernelDimension::kM, kK = KernelDimension::kK, kOuter = KernelDimension::kOuter,
                 kNone = KernelDimension::kNone;
  EXPECT_EQ(common_weight_bytes(kM, 25, kK, 25, 100), 25) << "rows forward are columns of the transpose";
  EXPECT_EQ(common_weight_bytes(kK, 25, kM, 25, 100), 25);
  EXPECT_EQ(common_weight_bytes(kOuter, 25, kOuter, 25, 100), 25) << "heads stay heads";
  EXPECT_EQ(common_weight_bytes(kM, 25, kM, 25, 100), 6.25) << "a quarter of the rows and a quarter of the columns";
  EXPECT_EQ(common_weight_bytes(kNone, 100, kM, 25, 100), 25) << "the whole holds every part";
  EXPECT_EQ(common_weight_bytes(kM, 25, kNone, 100, 100), 25);
}

// DRAM of training's forward and backward pass, kernels at TP 4.
double weights(workload::Passes passes, const Defects& defects, bool alike) {
  dataflow::Setup setup;
  setup.graph = layer(passes);
  setup.system.chips = 4;
  setup.system.network = {{Link::kRing, 4, 50, Parallelism::kTensor}};
  setup.system.cores = {.cores = 4, .width = 4, .height = 4, .frequency_ghz = 1};
  setup.system.accelerator.memory_bytes_per_s = 100e9;
  setup.execution.workload = LanguageModelRun{
      .hidden = 64, .head_width = 16, .heads = 4, .sequence = 32, .layers = 3, .global_batch = 1, .micro_batch = 1};
  setup.execution.compute_utilization = 1;
  Mapping mapping;
  mapping.degrees = {.tensor = 4, .sizes = {4}};
  for (const workload::Kernel& kernel : setup.graph.kernels) {
    const bool backward = kernel.direction == workload::Direction::kBackward;
    mapping.sharding.push_back(!kernel.has_weight() ? KernelDimension::kNone
                               : kernel.outer > 1   ? KernelDimension::kOuter
                               : backward && alike  ? KernelDimension::kK
                                                    : KernelDimension::kM);
  }
  double bytes = 0;
  for (const PartitionKernel& kernel : lower(setup, mapping, defects).kernels) bytes += kernel.dram_bytes;
  return bytes;
}

TEST(StoredWeights, TrainingHoldsTheWeightsOfInferenceUnlessAGenerationIsAsked) {
  const double forward = weights(workload::Passes::kForward, kCorrected, true);
  EXPECT_DOUBLE_EQ(forward, 3 * 12 * 64 * 64 * 2 / 4.0) << "12 h^2 a layer";
  // V_bwd has no heads: its K is cut where V's heads are.
  EXPECT_DOUBLE_EQ(weights(workload::Passes::kForwardBackward, kCorrected, true), forward);
  EXPECT_DOUBLE_EQ(weights(workload::Passes::kForwardBackward, kGen1, true), 2 * forward);
  EXPECT_GT(weights(workload::Passes::kForwardBackward, kCorrected, false), forward) << "other parts are other bytes";
  EXPECT_LT(weights(workload::Passes::kForwardBackward, kCorrected, false), 2 * forward);
}

}  // namespace
}  // namespace orrery::dataflow
