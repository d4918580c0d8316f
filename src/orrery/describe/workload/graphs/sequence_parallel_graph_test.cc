#include "orrery/describe/workload/graphs/sequence_parallel_graph.h"

#include <gtest/gtest.h>

#include "orrery/describe/workload/graphs/kernel_graphs_test_util.h"
#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"

namespace orrery::workload {
namespace {

constexpr base::Count kTokens = 2048;

PlainTransformer grouped() {
  PlainTransformer sizes;
  sizes.hidden = 8192;
  sizes.heads = 64;
  sizes.kv_heads = 8;
  sizes.ffn = 28672;
  sizes.gated = true;
  return sizes;
}

KernelGraph plain(base::Count layers = 1) {
  return language_model_graph(grouped(), kTokens, Passes::kForward, layers);
}

KernelGraph shared(TokenSharing sharing, base::Count chips, base::Count layers = 1,
                   const PlainTransformer& sizes = grouped()) {
  const Transformer model = checked_transformer(sizes);
  const GraphTokens tokens{.tokens = kTokens};
  return of_layers(model.decoder(), layers, [&](const GraphLayers& chosen) {
    return share_tokens(language_model_graph(chosen, tokens, Passes::kForward), chosen, tokens, sharing, chips);
  });
}

bool gathers(const Kernel& kernel) {
  return kernel.name.find("_GATHER") != std::string::npos;
}

double communicated(const KernelGraph& graph) {
  double bytes = 0;
  for (const Kernel& kernel : graph.kernels) bytes += kernel.communication_bytes;
  for (const KernelEdge& edge : graph.edges) bytes += edge.communication_bytes;
  return bytes;
}

constexpr double kStream = 8192.0 * kTokens * 2, kKeys = 8 * 128.0 * kTokens * 2;

TEST(SequenceParallelGraph, OneChipHasThePlainGraph) {
  for (const TokenSharing sharing : {TokenSharing::kEverywhere, TokenSharing::kBetweenProducts}) {
    const KernelGraph graph = shared(sharing, 1), alone = plain();
    EXPECT_EQ(edges_by_name(graph), edges_by_name(alone));
    for (const Kernel& kernel : graph.kernels) EXPECT_FALSE(kernel.sharding);
    EXPECT_EQ(communicated(graph), 0);
  }
}

TEST(SequenceParallelGraph, TheLayersFlopAreThoseOfThePlainGraphAndAGatherCountsItsElements) {
  for (const TokenSharing sharing : {TokenSharing::kEverywhere, TokenSharing::kBetweenProducts}) {
    const KernelGraph graph = shared(sharing, 8, 3);
    double of_layers = 0, of_gathers = 0;
    for (const Kernel& kernel : graph.kernels) (gathers(kernel) ? of_gathers : of_layers) += flop(kernel);
    EXPECT_EQ(of_layers, flop(plain(3)));
    EXPECT_EQ(of_gathers, 3 * 2 * (sharing == TokenSharing::kEverywhere ? kKeys : kStream) / 2);
  }
}

TEST(SequenceParallelGraph, TokensSharedEverywhereGatherKeysAndValuesAndNothingElse) {
  const KernelGraph graph = shared(TokenSharing::kEverywhere, 8);
  EXPECT_EQ(communicated(graph), 2 * kKeys) << "eight heads, not the sixty-four of queries";
  for (const Kernel& kernel : graph.kernels) {
    EXPECT_EQ(kernel.sharding, KernelDimension::kNone) << kernel.name;
    EXPECT_EQ(kernel.shard_n, gathers(kernel) ? 0 : kTokens / 8) << kernel.name;
  }
  for (const char* edge : {"K-K_GATHER", "V-V_GATHER", "K_GATHER-MHA_GEMM_1", "V_GATHER-MHA_GEMM_2", "Q-MHA_GEMM_1"})
    EXPECT_TRUE(has_edge(graph, edge)) << edge;
}

// An all-reduce is a reduce-scatter and an all-gather, each of as many bytes. Without it there are two of the stream.
TEST(SequenceParallelGraph, BetweenProductsAsManyBytesAreGatheredAndScatteredAsTwoAllReducesMove) {
  const KernelGraph graph = shared(TokenSharing::kBetweenProducts, 8);
  double scattered = 0, gathered = 0;
  for (const Kernel& kernel : graph.kernels) scattered += kernel.communication_bytes;
  for (const KernelEdge& edge : graph.edges) gathered += edge.communication_bytes;
  EXPECT_EQ(gathered, 2 * kStream);
  EXPECT_EQ(scattered, 2 * kStream);
  for (const char* product : {"PROJ_GEMM", "FFN1"}) {
    EXPECT_EQ(named(graph, product).sharding, KernelDimension::kK) << product;
    EXPECT_EQ(named(graph, product).communication_bytes, kStream) << product;
  }
  for (const char* edge : {"LayerNorm_1_GATHER-Q", "LayerNorm_1_GATHER-K", "LayerNorm_1_GATHER-V",
                           "LayerNorm_2_GATHER-FFN0", "PROJ_GEMM-DropOut_2", "Add_Prev_Layer-Add_1"})
    EXPECT_TRUE(has_edge(graph, edge)) << edge;
}

TEST(SequenceParallelGraph, EveryKernelOfTheResidualStreamIsSharedAndNoOtherIsAlongTheTokens) {
  const KernelGraph graph = shared(TokenSharing::kBetweenProducts, 8, 2);
  int shared_kernels = 0;
  for (const Kernel& kernel : graph.kernels) {
    if (kernel.shard_n == 0) continue;
    EXPECT_EQ(kernel.shard_n, kTokens / 8) << kernel.name;
    ++shared_kernels;
    EXPECT_FALSE(kernel.is_product()) << kernel.name;
    EXPECT_EQ(kernel.m, 8192) << kernel.name;
  }
  EXPECT_EQ(shared_kernels, 2 * 7) << "two norms, two dropouts and three additions of a layer";
  EXPECT_TRUE(names_are_unique(graph));
  EXPECT_TRUE(has_edge(graph, "Add_2_layer_1-Add_Prev_Layer_layer_2"));
  for (const KernelEdge& edge : graph.edges) EXPECT_LT(edge.from, edge.to);
}

TEST(SequenceParallelGraph, RefusesChipsThatDoNotDivideAndLayersThatCannotBeShared) {
  for (const TokenSharing sharing : {TokenSharing::kEverywhere, TokenSharing::kBetweenProducts}) {
    EXPECT_EQ(codes_of([&] { shared(sharing, 0); }), Codes{"O1482"});
    EXPECT_EQ(codes_of([&] { shared(sharing, 3); }), Codes{"O1491"});
    PlainTransformer mixture = grouped();
    mixture.experts.count = 8;
    mixture.experts.top_k = 2;
    mixture.experts.ffn = 1024;
    mixture.layers = 1;
    EXPECT_EQ(codes_of([&] { shared(sharing, 3, 1, mixture); }), (Codes{"O1488", "O1491"}));
  }
}

}  // namespace
}  // namespace orrery::workload
