#include "orrery/engines/dataflow/search/contradictions.h"

#include <gtest/gtest.h>

#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/search/optimize.h"

namespace orrery::dataflow {
namespace {

std::vector<std::string> codes(const dataflow::Setup& setup, const Defects& defects) {
  std::vector<std::string> found;
  for (const Reason& reason : contradictions(setup, defects)) found.push_back(reason.diagnostic.code);
  return found;
}

TEST(Contradictions, PublishedCasesHaveNone) {
  EXPECT_TRUE(contradictions(cases::readme(), kGen1).empty());
  EXPECT_TRUE(contradictions(cases::gpt3_4x2(), kCorrected).empty());
  EXPECT_TRUE(contradictions(cases::hpl_circe(), kGen2).empty());
  EXPECT_TRUE(contradictions(cases::dlrm_i(), kGen2).empty());
}

TEST(Contradictions, ACycleIsToldWithItsWayAndConnections) {
  dataflow::Setup setup = cases::gpt3_4x2();
  setup.graph.edges.push_back({8, 5});  // MHA_GEMM_2 back to MHA_GEMM_1
  const auto found = contradictions(setup, kGen2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].diagnostic.code, "O1446");
  EXPECT_EQ(found[0].diagnostic.message, "4 kernels depend on each other in a cycle");
  EXPECT_EQ(found[0].diagnostic.notes[0],
            "6 `MHA_GEMM_1` -> 7 `SOFTMAX` -> 8 `DropOut_1` -> 9 `MHA_GEMM_2` -> 6 `MHA_GEMM_1`");
  EXPECT_EQ(found[0].blamed.size(), 4u);
  EXPECT_THROW(optimize(setup, kGen2), base::InputError);
}

TEST(Contradictions, PinsAgainstAChainOfConnectionsAreToldWithTheChain) {
  dataflow::Setup setup = cases::gpt3_4x2();
  setup.graph.kernels[2].configuration = 3;
  setup.graph.kernels[7].configuration = 1;
  const auto found = contradictions(setup, kGen2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].diagnostic.code, "O1444");
  EXPECT_EQ(found[0].diagnostic.message,
            "kernel 3 `Q` is pinned to configuration 3, and kernel 8 `DropOut_1` is pinned to configuration 1");
  EXPECT_EQ(
      found[0].diagnostic.notes[0],
      "what a kernel reads must be produced in its configuration or before: 3 `Q` -> 6 `MHA_GEMM_1` -> 7 `SOFTMAX` "
      "-> 8 `DropOut_1`");
  EXPECT_EQ(found[0].blamed[0].index, 2);
  EXPECT_EQ(found[0].blamed[1].index, 7);
  setup.execution.style = Style::kKernelByKernel;  // where pins are not read
  EXPECT_TRUE(contradictions(setup, kGen2).empty());
}

TEST(Contradictions, ABackwardPinBeforeForwardKernelsItReadsContradictsTheHalves) {
  dataflow::Setup setup = cases::readme();
  setup.graph.kernels[14].configuration = 2;  // GeLU, which FFN1's update reads
  setup.graph.kernels[35].configuration = 0;
  EXPECT_EQ(codes(setup, kGen1), (std::vector<std::string>{"O1444"}));
}

TEST(Contradictions, APinBeyondTheConfigurationsIsTold) {
  dataflow::Setup setup = cases::gpt3_4x2();
  setup.graph.kernels[4].configuration = 5;
  const auto found = contradictions(setup, kGen2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].diagnostic.code, "O1445");
  EXPECT_EQ(found[0].diagnostic.message, "kernel 5 `V` is pinned to configuration 5, but there are only 5");
}

TEST(Contradictions, TilesThatDoNotDivideAreRefusedUnderAnEarlyGenerationOnly) {
  dataflow::Setup setup = cases::gpt3_4x2();
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 384;
  const auto found = contradictions(setup, kGen2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].diagnostic.code, "O1452");
  EXPECT_EQ(found[0].diagnostic.notes[0], "2048 / 384 = 5.33333");
  EXPECT_TRUE(contradictions(setup, kCorrected).empty());
}

TEST(Contradictions, AllOfThemAreToldAtOnce) {
  dataflow::Setup setup = cases::gpt3_4x2();
  setup.graph.kernels[9].sharding = workload::KernelDimension::kOuter;
  setup.graph.kernels[4].configuration = 9;
  setup.system.chips = 9;
  EXPECT_EQ(codes(setup, kGen2), (std::vector<std::string>{"O1440", "O1445", "O1441"}));
}

TEST(Contradictions, AStatedShardIsAPartOfItsKernelAndAllPartsMakeTheWhole) {
  dataflow::Setup setup = cases::gpt3_4x2();  // 8 chips
  workload::Kernel& ffn = setup.graph.kernels[13];
  ffn.shard_m = ffn.m / 8;
  EXPECT_TRUE(contradictions(setup, kCorrected).empty());
  ffn.shard_m = ffn.m / 16;
  auto found = contradictions(setup, kCorrected);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].diagnostic.code, "O1451");
  EXPECT_EQ(found[0].diagnostic.message, "the parts that kernel 14 `FFN0` states do not cover its work");
  EXPECT_EQ(found[0].diagnostic.notes[1], "8 chips do 0.5 of the whole");
  EXPECT_EQ(found[0].blamed[0].field, "shard_outer_M");
  ffn.shard_m = 0;
  ffn.shard_k = ffn.k + 1;
  found = contradictions(setup, kCorrected);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].diagnostic.message, "kernel 14 `FFN0` states shard_K 12289, and has K 12288");
  EXPECT_THROW(optimize(setup, kCorrected), base::InputError);
  // Without skip_inter_chip_optimization a generation computes them anew.
  EXPECT_TRUE(contradictions(setup, kHead).empty());
  setup.execution.skip_inter_chip = true;
  EXPECT_EQ(contradictions(setup, kHead).size(), 1u);
}

}  // namespace
}  // namespace orrery::dataflow
