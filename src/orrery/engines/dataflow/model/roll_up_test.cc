#include <gtest/gtest.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow {
namespace {

// 96 layers on 8 stages of 4 replicas, 256 sequences in micro-batches of 2: 32 of them, 12 layers each.
dataflow::Setup training() {
  dataflow::Setup setup;
  setup.system.chips = 32;
  setup.system.network = {{Link::kRing, 8, 50, Parallelism::kPipeline}, {Link::kRing, 4, 25, Parallelism::kData}};
  setup.system.cores = {.cores = 1, .width = 1, .height = 1, .frequency_ghz = 1};
  LanguageModelRun model{.hidden = 1000, .sequence = 500, .layers = 96};
  model.global_batch = 256;
  model.micro_batch = 2;
  setup.execution.workload = model;
  setup.graph.kernels.resize(1);
  setup.graph.kernels[0].direction = workload::Direction::kBackward;
  return setup;
}
const Degrees kDegrees{.pipeline = 8, .data = 4, .sizes = {8, 4}};

Evaluation rolled(const dataflow::Setup& setup, const Degrees& degrees, const Defects& defects, double sum = 1000) {
  Evaluation result;
  result.sum_interval_ns = sum;
  result.flop = 64;
  roll_up(setup, degrees, defects, result);
  return result;
}

TEST(RollUp, TheBubbleIsTheStandardOneUnlessDfmodelsIsAskedFor) {
  const Evaluation ours = rolled(training(), kDegrees, kCorrected);
  EXPECT_EQ(ours.layers_per_stage, 12);
  EXPECT_EQ(ours.micro_batches, 32);
  EXPECT_DOUBLE_EQ(ours.pipeline_factor, 1 + 7.0 / 32);
  EXPECT_DOUBLE_EQ(rolled(training(), kDegrees, kGen2).pipeline_factor, 1 + 7.0 / 32 / 11);
}

TEST(RollUp, TimeOfATrainingRun) {
  const Evaluation found = rolled(training(), kDegrees, kCorrected);
  EXPECT_DOUBLE_EQ(found.point_to_point_ns, 2.0 * 1000 * 500 * 2 * 96 / 50);
  EXPECT_DOUBLE_EQ(found.final_ns, 1000 * (1 + 7.0 / 32) * 12 * 256 / 4 + found.point_to_point_ns);
  EXPECT_DOUBLE_EQ(found.flops_utilization, 64 / (found.final_ns * 32 * 2));
  EXPECT_EQ(found.latency_ns, 0) << "training has no latency of one sequence";
}

TEST(RollUp, ForwardOnlyHasALatencyAndNoExchangeBetweenStages) {
  dataflow::Setup setup = training();
  setup.graph.kernels[0].direction = workload::Direction::kForward;
  setup.system.link_latency_ns = 10;
  const Evaluation found = rolled(setup, kDegrees, kHead);
  EXPECT_EQ(found.point_to_point_ns, 0);
  EXPECT_DOUBLE_EQ(found.latency_ns, 1000.0 * 12 * 8 + 7 * (1000.0 * 500 * 2 / 50 + 10));
}

TEST(RollUp, GenerationsAgreeWithoutAPipeline) {
  const Degrees degrees{.data = 4};
  for (const Defects& defects : {kGen1, kGen2, kGen4, kHead})
    EXPECT_DOUBLE_EQ(rolled(training(), degrees, defects).final_ns, rolled(training(), degrees, kCorrected).final_ns);
}

TEST(RollUp, OtherWorkloads) {
  dataflow::Setup setup = training();
  setup.execution.workload = Recommendation{.global_batch = 3200};
  EXPECT_DOUBLE_EQ(rolled(setup, {}, kGen2).final_ns, 1000.0 * 3200 / 32);
  EXPECT_EQ(rolled(setup, {}, kGen2).micro_batches, 100);
  setup.execution.workload = Linpack{.n = 64, .block = 8, .copies = 4};
  EXPECT_DOUBLE_EQ(rolled(setup, {}, kGen2).final_ns, 250);
  setup.execution.workload = FourierTransform{.length = 64, .copies = 2};
  EXPECT_DOUBLE_EQ(rolled(setup, {}, kGen2).final_ns, 500);
  setup.execution.workload = StateSpaceModel{};
  EXPECT_DOUBLE_EQ(rolled(setup, {}, kGen4).final_ns, 1000);
}

TEST(RollUp, FlopCountKernelsAsTheyAreWritten) {
  dataflow::Setup setup = training();
  workload::Kernel product;
  product.outer = 2, product.m = 3, product.k = 5, product.n = 7;
  workload::Kernel simd = product;
  simd.unit = workload::KernelUnit::kSimd;
  simd.operands = workload::Operands::kOneElementwise;
  simd.k = 1;
  setup.graph.kernels = {product, simd};
  EXPECT_DOUBLE_EQ(workload_flop(setup), (2.0 * 2 * 3 * 5 * 7 + 2 * 3 * 7) * 96 * 256);
  std::get<LanguageModelRun>(setup.execution.workload).layers_in_graph = 4;
  EXPECT_DOUBLE_EQ(workload_flop(setup), (2.0 * 2 * 3 * 5 * 7 + 2 * 3 * 7) * 24 * 256);
  setup.execution.workload = Recommendation{.global_batch = 10};
  EXPECT_DOUBLE_EQ(workload_flop(setup), (2.0 * 2 * 3 * 5 * 7 + 2 * 3 * 7) * 10);
  setup.execution.workload = Linpack{.copies = 3};
  EXPECT_DOUBLE_EQ(workload_flop(setup), 2.0 * 2 * 3 * 5 * 7 + 2 * 3 * 7);
}

TEST(RollUp, RefusesBatchesThatAreNotWholeMicroBatches) {
  dataflow::Setup setup = training();
  for (const Degrees& degrees : {Degrees{.data = 3}, Degrees{.data = 256}}) {
    EXPECT_FALSE(micro_batches(setup, degrees));
    const auto errors = base::refused([&] { rolled(setup, degrees, kCorrected); });
    EXPECT_EQ(errors.at(0).code, "O1430");
    EXPECT_NE(errors.at(0).notes.at(0).find("256 over micro_batch_size 2 x"), std::string::npos);
  }
  std::get<LanguageModelRun>(setup.execution.workload).micro_batch = Count{1} << 62;
  EXPECT_FALSE(micro_batches(setup, {.data = 4})) << "their product exceeds 64 bits";
  setup.execution.workload = Recommendation{.global_batch = 33};
  EXPECT_FALSE(micro_batches(setup, {}));
}

TEST(RollUp, LayersOfAGraphAreCountedOnce) {
  dataflow::Setup setup = training();
  std::get<LanguageModelRun>(setup.execution.workload).layers_in_graph = 4;
  EXPECT_EQ(layers_per_stage(setup, kDegrees), 3);
}

}  // namespace
}  // namespace orrery::dataflow
