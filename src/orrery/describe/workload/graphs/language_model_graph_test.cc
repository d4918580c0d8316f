#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"

#include <gtest/gtest.h>

#include "orrery/describe/workload/graphs/kernel_graphs_test_util.h"

namespace orrery::workload {
namespace {

PlainTransformer gpt3_1t() {
  PlainTransformer shape;
  shape.hidden = 25600;
  shape.heads = 160;
  return shape;
}

PlainTransformer llama3_70b() {
  PlainTransformer shape;
  shape.hidden = 8192;
  shape.heads = 64;
  shape.kv_heads = 8;
  shape.ffn = 28672;
  shape.gated = true;
  return shape;
}

TEST(LanguageModelGraph, HasAsManyKernelsAndEdgesAsPublished) {
  const KernelGraph forward = language_model_graph(gpt3_1t(), 2048, Passes::kForward);
  EXPECT_EQ(forward.kernels.size(), 18u);
  EXPECT_EQ(forward.edges.size(), 21u);
  EXPECT_FALSE(forward.has_backward());
  const KernelGraph both = language_model_graph(gpt3_1t(), 2048, Passes::kForwardBackward);
  EXPECT_EQ(both.kernels.size(), 41u);
  EXPECT_EQ(both.edges.size(), 53u);
}

// 128 layers, 3072 sequences.
TEST(LanguageModelGraph, MakesThePublishedFlopOfGpt3WithATrillionParameters) {
  EXPECT_DOUBLE_EQ(flop(language_model_graph(gpt3_1t(), 2048, Passes::kForwardBackward)) * 128 * 3072,
                   3.85072240461978e19);
}

// 96 layers, 2304 sequences.
TEST(LanguageModelGraph, MakesThePublishedFlopOfGpt3With175BillionParametersForward) {
  PlainTransformer shape;
  shape.hidden = 12288;
  shape.heads = 96;
  EXPECT_DOUBLE_EQ(flop(language_model_graph(shape, 2048, Passes::kForward)) * 96 * 2304, 1.6874003603411436e18);
}

TEST(LanguageModelGraph, BackwardAloneIsTheBackwardPartWithoutEdgesFromForwardKernels) {
  const KernelGraph both = language_model_graph(gpt3_1t(), 2048, Passes::kForwardBackward);
  const KernelGraph backward = language_model_graph(gpt3_1t(), 2048, Passes::kBackward);
  ASSERT_EQ(backward.kernels.size(), 23u);
  for (int k = 0; k < 23; ++k) EXPECT_EQ(backward.kernels[k].name, both.kernels[18 + k].name);
  std::vector<std::string> inside;
  for (const KernelEdge& edge : both.edges)
    if (edge.from >= 18) inside.push_back(both.kernels[edge.from].name + "-" + both.kernels[edge.to].name);
  EXPECT_EQ(edges_by_name(backward), inside);
  EXPECT_EQ(inside.size(), 22u);
}

TEST(LanguageModelGraph, LayersFollowEachOtherForwardAndFromTheLastOneBackward) {
  const KernelGraph graph = language_model_graph(gpt3_1t(), 2048, Passes::kForwardBackward, 3);
  EXPECT_EQ(graph.kernels.size(), 3u * 41);
  EXPECT_EQ(graph.edges.size(), 3u * 53 + 2 * (1 + 3));
  EXPECT_TRUE(names_are_unique(graph));
  EXPECT_TRUE(find_cycle(graph).empty());
  EXPECT_TRUE(has_edge(graph, "Add_2_layer_1-Add_Prev_Layer_layer_2"));
  for (const char* gradient : {"V_bwd", "Q_bwd", "K_bwd"})
    EXPECT_TRUE(has_edge(graph, std::string(gradient) + "_layer_3-Loss_bwd_layer_2")) << gradient;
  EXPECT_TRUE(has_edge(graph, "GeLU_layer_2-FFN1_bwd_weight_update_layer_2"));
  EXPECT_EQ(graph.kernels[3 * 18].name, "Loss_bwd_layer_3");
}

TEST(LanguageModelGraph, EveryEdgeLeadsToALaterKernel) {
  for (Passes passes : {Passes::kForward, Passes::kForwardBackward, Passes::kBackward})
    for (int layers : {1, 4})
      for (const KernelEdge& edge : language_model_graph(gpt3_1t(), 2048, passes, layers).edges)
        EXPECT_LT(edge.from, edge.to);
}

TEST(LanguageModelGraph, FourBackwardLayersAreFourTimesTwentyThreeKernels) {
  const KernelGraph graph = language_model_graph(gpt3_1t(), 2048, Passes::kBackward, 4);
  EXPECT_EQ(graph.kernels.size(), 92u);
  EXPECT_EQ(graph.edges.size(), 4u * 22 + 3 * 3);
}

TEST(LanguageModelGraph, EveryOutputIsItsSpaceInBytes) {
  for (const PlainTransformer& shape : {gpt3_1t(), llama3_70b()})
    for (const Kernel& kernel : language_model_graph(shape, 2048, Passes::kForwardBackward).kernels)
      EXPECT_EQ(kernel.output_bytes, 2.0 * kernel.outer * kernel.m * kernel.n) << kernel.name;
}

TEST(LanguageModelGraph, EveryWeightIsItsSpaceInBytes) {
  int weights = 0;
  for (const Kernel& kernel : language_model_graph(llama3_70b(), 2048, Passes::kForwardBackward).kernels)
    if (kernel.has_weight()) {
      ++weights;
      EXPECT_EQ(kernel.second_bytes, 2.0 * kernel.outer * kernel.m * kernel.k) << kernel.name;
    }
  EXPECT_GT(weights, 0);
}

// What a kernel makes is what the next one takes, as its first or second input. Where two gradients are added, or the
// residual stream forks, several edges carry the same tensor.
TEST(LanguageModelGraph, EveryEdgeCarriesWhatItsConsumerStates) {
  for (const PlainTransformer& shape : {gpt3_1t(), llama3_70b()}) {
    const KernelGraph graph = language_model_graph(shape, 2048, Passes::kForwardBackward, 2);
    for (const KernelEdge& edge : graph.edges) {
      const double made = graph.kernels[edge.from].output_bytes;
      const Kernel& to = graph.kernels[edge.to];
      EXPECT_TRUE(made == to.input_bytes || made == to.second_bytes) << graph.kernels[edge.from].name << "-" << to.name;
    }
  }
}

// Of products by weights twice the forward's; of attention's two products twice as well: backward has two of each.
TEST(LanguageModelGraph, BackwardProductsMakeTwiceTheForwardFlopWithGroupedQueriesAndGates) {
  for (const PlainTransformer& shape : {gpt3_1t(), llama3_70b()}) {
    double forward = 0, backward = 0;
    for (const Kernel& kernel : language_model_graph(shape, 4096, Passes::kForwardBackward).kernels)
      if (kernel.unit == KernelUnit::kSystolic)
        (kernel.direction == Direction::kForward ? forward : backward) += flop(kernel);
    EXPECT_DOUBLE_EQ(backward, 2 * forward);
  }
}

TEST(LanguageModelGraph, GroupedQueriesNarrowKeysAndValuesOnly) {
  const KernelGraph graph = language_model_graph(llama3_70b(), 4096, Passes::kForward);
  EXPECT_EQ(named(graph, "Q").outer, 64);
  EXPECT_EQ(named(graph, "K").outer, 8);
  EXPECT_EQ(named(graph, "V").output_bytes * 8, named(graph, "Q").output_bytes);
  EXPECT_EQ(named(graph, "MHA_GEMM_1").outer, 64);
}

TEST(LanguageModelGraph, AGatedNetworkProjectsUpTwiceAndDownOnce) {
  const KernelGraph graph = language_model_graph(llama3_70b(), 4096, Passes::kForward);
  EXPECT_EQ(named(graph, "FFN0").m, 2 * 28672);
  EXPECT_EQ(named(graph, "GeLU").m, 28672);
  EXPECT_EQ(named(graph, "FFN1").k, 28672);
}

TEST(LanguageModelGraph, RefusesSizesBelowOneAllAtOnce) {
  PlainTransformer shape;
  shape.heads = -1;
  EXPECT_EQ(codes_of([&] { checked_transformer(shape); }), (Codes{"O1482", "O1482"}));
  const Transformer model = checked_transformer(gpt3_1t());
  EXPECT_EQ(codes_of([&] {
              language_model_graph(GraphLayers{model.decoder().width, {}}, {.tokens = 0, .word_bytes = 0, .chips = 0},
                                   Passes::kForward);
            }),
            (Codes(4, "O1482")));
}

TEST(LanguageModelGraph, RefusesHeadsThatDoNotFit) {
  PlainTransformer shape = gpt3_1t();
  shape.heads = 96;
  shape.kv_heads = 7;
  EXPECT_EQ(codes_of([&] { language_model_graph(shape, 2048, Passes::kForward); }), (Codes{"O1483", "O1483"}));
}

TEST(LanguageModelGraph, RefusesWhatDoesNotFit64Bits) {
  EXPECT_EQ(codes_of([&] { language_model_graph(gpt3_1t(), 4'000'000'000, Passes::kForward); }).front(), "O1485");
  PlainTransformer shape;
  shape.hidden = shape.heads = 4'000'000'000'000'000'000;
  EXPECT_EQ(codes_of([&] { language_model_graph(shape, 1, Passes::kForward); }), (Codes{"O1485"}));
}

TEST(LanguageModelGraph, RefusesTooManyLayersBeforeBuildingThem) {
  EXPECT_EQ(codes_of([&] { language_model_graph(gpt3_1t(), 2048, Passes::kForward, 1'000'000'000'000); }),
            (Codes{"O1486"}));
}

}  // namespace
}  // namespace orrery::workload
