// The smaller generators: decoding, attention, DLRM, Linpack, Fourier transform.
#include <gtest/gtest.h>

#include "orrery/describe/workload/graphs/dlrm_graph.h"
#include "orrery/describe/workload/graphs/fft_graph.h"
#include "orrery/describe/workload/graphs/hpl_graph.h"
#include "orrery/describe/workload/graphs/kernel_graphs_test_util.h"
#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"

namespace orrery::workload {
namespace {

PlainTransformer gpt3_175b() {
  PlainTransformer shape;
  shape.hidden = 12288;
  shape.heads = 96;
  return shape;
}

TEST(DecodeGraph, HasThePublishedKernelsEdgesAndFlop) {
  const KernelGraph graph = decode_graph(gpt3_175b(), 10001, 12, 1, 1);
  EXPECT_EQ(graph.kernels.size(), 20u);
  EXPECT_EQ(graph.edges.size(), 23u);
  EXPECT_DOUBLE_EQ(flop(graph) * 96, 442470942720.0);  // 96 layers, one sequence
}

TEST(DecodeGraph, AChipReadsItsShareOfWeightsAndOfTheCacheWithoutTheNewToken) {
  const KernelGraph graph = decode_graph(gpt3_175b(), 10001, 12, 1, 1);
  EXPECT_EQ(named(graph, "K_cache").memory_bytes, 12288.0 * 10000 / 12);
  EXPECT_EQ(named(graph, "FFN0").memory_bytes, 12288.0 * 49152 / 12);
  EXPECT_EQ(named(graph, "SOFTMAX").memory_bytes, 0);
  EXPECT_EQ(decode_graph(gpt3_175b(), 1).kernels[5].memory_bytes, 0);
}

TEST(DecodeGraph, GroupedQueriesShrinkTheCache) {
  PlainTransformer shape = gpt3_175b();
  shape.kv_heads = 12;
  const KernelGraph graph = decode_graph(shape, 10001, 12, 1, 1);
  EXPECT_EQ(named(graph, "V_cache").memory_bytes, 12288.0 / 8 * 10000 / 12);
  EXPECT_EQ(named(graph, "MHA_GEMM_1").outer, 96);
}

TEST(DecodeGraph, LayersFollowEachOther) {
  const KernelGraph graph = decode_graph(gpt3_175b(), 10001, 12, 2, 1);
  EXPECT_EQ(graph.kernels.size(), 40u);
  EXPECT_EQ(graph.edges.size(), 2u * 23 + 1);
  EXPECT_TRUE(has_edge(graph, "Add_2_layer_1-Add_Prev_Layer_layer_2"));
}

TEST(DecodeGraph, RefusesSizesBelowOne) {
  EXPECT_EQ(codes_of([] { decode_graph(gpt3_175b(), 0, 0); }), (Codes{"O1482", "O1482"}));
  EXPECT_EQ(codes_of([] { decode_graph(gpt3_175b(), 1, 1, 0); }), (Codes{"O1482"}));
}

TEST(AttentionGraph, HasThePublishedFlopAndReducesOverTilesOfKeys) {
  PlainTransformer shape;
  shape.hidden = 32;
  shape.heads = 2;
  const KernelGraph graph = attention_graph(shape, 262144);
  EXPECT_EQ(graph.kernels.size(), 8u);
  EXPECT_EQ(graph.edges.size(), 7u);
  EXPECT_EQ(flop(graph), 8939437555712.0);
  for (const Kernel& kernel : graph.kernels)
    EXPECT_EQ(kernel.tiling, kernel.name == "MHA_GEMM_2" ? KernelDimension::kK : KernelDimension::kN) << kernel.name;
}

TEST(AttentionGraph, RefusesHeadsThatAreNotAsWideAsTheModelTogether) {
  PlainTransformer shape;
  shape.hidden = 32;
  shape.heads = 2;
  shape.head_width = 32;
  EXPECT_EQ(codes_of([&] { attention_graph(shape, 64); }), (Codes{"O1483"}));
}

DlrmShape published_dlrm() {
  DlrmShape shape;
  shape.bottom = shape.top = 3;
  shape.width = 1825;
  shape.tables = 60;
  shape.pooled_rows = 70;
  shape.embedding = 92;
  shape.micro_batch = 2048;
  return shape;
}

TEST(DlrmGraph, HasThreeKernelsAnMlpAndThePublishedFlop) {
  const KernelGraph graph = dlrm_graph(published_dlrm());
  EXPECT_EQ(graph.kernels.size(), 18u);
  EXPECT_EQ(graph.edges.size(), 20u);
  EXPECT_DOUBLE_EQ(flop(graph) * 128e6, 3.143172096e+19);
}

TEST(DlrmGraph, OnlyTheLastBottomMlpExchangesEmbeddings) {
  for (const Kernel& kernel : dlrm_graph(published_dlrm()).kernels) {
    const bool joins = kernel.name == "MLP_3" || kernel.name == "MLP_3_bwd";
    EXPECT_EQ(kernel.communication == Communication::kAllToAll, joins) << kernel.name;
    EXPECT_EQ(kernel.memory_bytes, joins ? 1582694400.0 : 0) << kernel.name;
  }
}

TEST(DlrmGraph, AnUpdateReadsTheActivationBeforeAndTheGradientAfterItsMlp) {
  const KernelGraph graph = dlrm_graph(published_dlrm());
  EXPECT_TRUE(has_edge(graph, "MLP_1-MLP_2_bwd_weight_update"));
  EXPECT_TRUE(has_edge(graph, "MLP_3_bwd-MLP_2_bwd_weight_update"));
  EXPECT_TRUE(find_cycle(graph).empty());
}

TEST(DlrmGraph, RefusesSizesBelowOneAndTooManyMlps) {
  EXPECT_EQ(codes_of([] { dlrm_graph({}); }).size(), 7u);
  DlrmShape shape = published_dlrm();
  shape.bottom = 1'000'000'000'000'000'000;
  EXPECT_EQ(codes_of([&] { dlrm_graph(shape); }), (Codes{"O1486"}));
  shape = published_dlrm();
  shape.width = 5'000'000'000;
  EXPECT_EQ(codes_of([&] { dlrm_graph(shape); }).front(), "O1485");
}

TEST(HplGraph, HasOneKernelABlockAndThePublishedFlop) {
  const KernelGraph graph = hpl_graph(65536, 1024);
  EXPECT_EQ(graph.kernels.size(), 64u);
  EXPECT_EQ(graph.edges.size(), 63u);
  EXPECT_EQ(flop(graph), 192070937477120.0);
  EXPECT_EQ(flop(hpl_graph(262144, 4096)), 1.229253999853568e16);
}

TEST(HplGraph, PanelsShrinkByABlockAndAreBroadcastAndPassedOn) {
  const KernelGraph graph = hpl_graph(65536, 1024);
  EXPECT_EQ(graph.kernels[1].m, 64512);
  EXPECT_EQ(graph.kernels[1].communication_bytes, 64512.0 * 1024 * 8);
  EXPECT_EQ(graph.kernels[1].communication, Communication::kBroadcast);
  EXPECT_EQ(graph.kernels[1].second_communication, Communication::kPointToPoint);
  EXPECT_EQ(graph.kernels.back().m, 1024);
}

TEST(HplGraph, RefusesABlockThatDoesNotDivide) {
  EXPECT_EQ(codes_of([] { hpl_graph(65536, 1000); }), (Codes{"O1484"}));
  EXPECT_EQ(codes_of([] { hpl_graph(1'000'000, 1); }), (Codes{"O1486"}));
  EXPECT_EQ(codes_of([] { hpl_graph(0, -1); }), (Codes{"O1482", "O1482"}));
  EXPECT_EQ(codes_of([] { hpl_graph(4'000'000'000, 2'000'000'000); }).front(), "O1485");
}

TEST(FftGraph, HasTwoStepsAndThePublishedFlop) {
  const KernelGraph graph = fft_graph(1073740000000);
  ASSERT_EQ(graph.kernels.size(), 2u);
  EXPECT_EQ(graph.kernels[0].m, 1036214);
  EXPECT_EQ(graph.kernels[0].k, 159);
  EXPECT_EQ(graph.kernels[0].communication, Communication::kNone);
  EXPECT_EQ(graph.kernels[1].communication, Communication::kAllToAll);
  EXPECT_EQ(flop(graph), 682898292614256.0);
}

TEST(FftGraph, TheSideIsTheExactSquareRoot) {
  for (base::Count side : {2, 3, 1000, 46341, 94906267, 130'000'003}) {
    EXPECT_EQ(fft_graph(side * side, 2, 1).kernels[0].m, side);
    if (side > 1'000'000) {
      EXPECT_EQ(fft_graph(side * side + 2 * side, 2, 1).kernels[0].m, side);
      EXPECT_EQ(fft_graph(side * side - 1, 2, 1).kernels[0].m, side - 1);
    }
  }
}

TEST(FftGraph, RefusesALengthThatIsNoSquareBeyondRounding) {
  for (base::Count length : {5, 8, 1000, 2048, 1'048'575}) {
    EXPECT_EQ(codes_of([&] { fft_graph(length); }), (Codes{"O1425"})) << length;
  }
  for (base::Count length : {231'928'000'000, 549'756'000'000, 1'073'740'000'000, 4'398'050'000'000})
    EXPECT_GT(fft_graph(length).kernels[0].m, 1) << length;
}

TEST(FftGraph, RefusesWhatLeavesNothingToDo) {
  EXPECT_EQ(codes_of([] { fft_graph(3, 1); }), (Codes{"O1490", "O1490"}));
  EXPECT_EQ(codes_of([] { fft_graph(-1, 0, 0); }), (Codes{"O1482", "O1482", "O1482"}));
  EXPECT_EQ(codes_of([] { fft_graph(1'000'000'000'000, 2, 9'000'000'000'000); }).front(), "O1485");
}

TEST(FftGraph, RefusesARadixWhoseWorkDoesNotFit64Bits) {
  EXPECT_EQ(codes_of([] { fft_graph(1'000'000'000'000, 9'000'000'000'000'000'000); }).front(), "O1485");
}

}  // namespace
}  // namespace orrery::workload
