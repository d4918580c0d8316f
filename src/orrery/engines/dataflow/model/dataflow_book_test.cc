// Every number that docs/model/dataflow.md works out and that no other test of this folder repeats.
#include <gtest/gtest.h>

#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/network_time.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

TEST(DataflowBook, ShardsOfTheTrillionParameterModel) {
  const auto setup = cases::readme();
  const std::vector<Shard> parts = shards(setup, cases::readme_optimum(setup), kGen1);
  const workload::Kernel& q = setup.graph.kernels[2];
  EXPECT_EQ(q.name, "Q");
  EXPECT_EQ(q.outer, 160);
  EXPECT_EQ(q.m, 160);
  EXPECT_EQ(parts[2].m, 3200);
  EXPECT_EQ(parts[2].k, 25600);
  EXPECT_EQ(parts[2].n, 1);
  EXPECT_EQ(parts[13].m, 12800) << "FFN0";
}

TEST(DataflowBook, TheLastTileIsPricedWhole) {
  auto setup = cases::gpt3_8x1();
  for (workload::Kernel& kernel : setup.graph.kernels) kernel.n = 262144;
  Mapping mapping = cases::gpt3_8x1_optimum(setup);
  mapping.tiles = 21846;
  EXPECT_EQ(shards(setup, mapping, kCorrected)[0].n, 12);
}

TEST(DataflowBook, CoresOfTheFirstFeedForwardProduct) {
  const auto setup = cases::gpt3_8x1();
  const PartitionProblem problem = lower(setup, cases::gpt3_8x1_optimum(setup), kCorrected);
  const std::vector<CoreChoice>& choices = problem.kernels[13].choices;
  EXPECT_EQ(choices.size(), 58U);
  bool found = false;
  for (const CoreChoice& choice : choices) {
    if (choice.cores != 308) continue;
    found = true;
    EXPECT_DOUBLE_EQ(choice.ns, 2202009.6);
    EXPECT_DOUBLE_EQ(choice.ns, 172032 / 1.25 * 16);
  }
  EXPECT_TRUE(found);
}

TEST(DataflowBook, ComputeAtAUtilisation) {
  const auto setup = cases::readme();
  const PartitionProblem problem = lower(setup, cases::readme_optimum(setup), kGen1);
  EXPECT_NEAR(problem.kernels[13].compute_ns, 2427259.32, 0.01);
  EXPECT_DOUBLE_EQ(problem.kernels[9].network_ns, 2048.0 * 25600 * 2 * 0.035);
  EXPECT_DOUBLE_EQ(problem.kernels[9].network_ns, 3670016);
}

TEST(DataflowBook, ReductionsInAHighBandwidthDomain) {
  System system;
  system.chips = 128;
  system.network = {{Link::kRing, 4, 400, Parallelism::kPipeline},
                    {Link::kRing, 16, 50, Parallelism::kTensor},
                    {Link::kRing, 2, 25, Parallelism::kData}};
  system.high_bandwidth_domain = 8;
  EXPECT_DOUBLE_EQ(
      group_charges(system, {.tensor = 16}, Parallelism::kTensor, kCorrected, false).all_reduce.ns_per_byte, 0.0034375);
}

TEST(DataflowBook, ExchangesAndReductionsOfARecommendationModel) {
  const auto setup = cases::dlrm_i();
  EXPECT_DOUBLE_EQ(exchange_ns(setup.system, {}, 12364800, kCorrected), 5275648);
  EXPECT_NEAR(machine_all_reduce(setup.system, {}, kCorrected, false).ns_per_byte, 0.00354167, 5e-9);
}

// What docs/compatibility.md says of the published cases.
TEST(DataflowBook, WhatCompatibilityChanges) {
  const auto with = [](dataflow::Setup setup, const Mapping& mapping, const Defects& defects) {
    return evaluate(setup, mapping, defects);
  };
  const auto readme = cases::readme();
  EXPECT_NEAR(with(readme, cases::readme_optimum(readme), kCorrected).final_ns, 7.23362e10, 1e5);
  // The same placement, but 128 replicas that reduce their gradients after one micro-batch, beside the all-reduces.
  auto replicas = readme;
  replicas.system.network[1].parallelism = Parallelism::kData;
  std::get<LanguageModelRun>(replicas.execution.workload).micro_batch = 24;
  Mapping replicated = cases::readme_optimum(readme);
  replicated.degrees = {.tensor = 8, .data = 128, .sizes = {8, 128}};
  EXPECT_NEAR(with(replicas, replicated, kCorrected).final_ns, 1.621945e11, 1e5);
  EXPECT_NEAR(with(replicas, replicated, kHead).final_ns, 1.509202e11, 1e5);
  const auto decode = cases::decode();
  const Mapping one = cases::mapping(decode, {.tensor = 12, .sizes = {12}}, 1, std::vector<int>(20, 0));
  EXPECT_NEAR(with(decode, one, kGen2).final_ns, 4129817, 1);
  EXPECT_NEAR(with(decode, one, kCorrected).final_ns, 12570607.6, 1);
  const auto dlrm = cases::dlrm_i();
  EXPECT_NEAR(with(dlrm, cases::whole_machine(dlrm), kCorrected).final_ns, 1.1304845e13, 1e7);
  EXPECT_NEAR(with(dlrm, cases::whole_machine(dlrm), kGen1).final_ns, 6.828184e13, 1e7);
  EXPECT_NEAR(with(dlrm, cases::whole_machine(dlrm), kGen3).final_ns, 2.818012e12, 1e6);
  const auto fft = cases::fft_1024();
  EXPECT_NEAR(with(fft, cases::whole_machine(fft), kCorrected).final_ns, 350040021, 1);
  const PartitionProblem ours = lower(dlrm, cases::whole_machine(dlrm), kCorrected);
  EXPECT_NEAR(ours.kernels[12].network_ns, 0.0236, 5e-5);
}

}  // namespace
}  // namespace orrery::dataflow
