// Kernels of layers that are not plain: experts, latents, windows, recurrences, attention to an encoder's output.
#include "orrery/describe/workload/graphs/block_kernels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/describe/workload/graphs/decode_graph.h"
#include "orrery/describe/workload/graphs/kernel_graphs_test_util.h"
#include "orrery/describe/workload/graphs/language_model_graph.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_test_util.h"

namespace orrery::workload {
namespace {

using base::Count;

KernelGraph graph_of(const Block& block, Count width, Passes passes, const GraphTokens& tokens) {
  return language_model_graph({width, {&block}}, tokens, passes);
}

KernelGraph decoded(const Block& block, Count width, const GraphTokens& tokens) {
  return decode_graph({width, {&block}}, tokens);
}

Block mixture() {
  Block block = deepseek_v3().decoder().kinds.back();
  auto attention = heads_of(32, 8, 128);
  block.mixer = attention;
  return block;
}

Block latent() {
  return deepseek_v3().decoder().kinds.front();
}

Block mamba() {
  Recurrence m;
  m.kind = Recurrence::Kind::kMamba;
  m.projections = {{"in", 1024, 4096}, {"x", 2048, 64 + 32}, {"dt", 64, 2048}, {"out", 2048, 1024}};
  m.channels = 2048;
  m.taps = 4;
  m.heads = 2048;
  m.key_width = 16;
  m.value_width = 1;
  Block block;
  block.mixer = m;
  block.norms = 1;
  block.norm = {NormKind::kRms, true, false};
  return block;
}

// Griffin's: the gates of the recurrence are matrices of a head's width, behind the convolution.
Block gated_linear() {
  Recurrence m;
  m.kind = Recurrence::Kind::kGatedLinear;
  m.projections = {{"in", 1024, 1280}, {"gate", 1024, 1280}, {"x", 128, 2 * 1280}, {"out", 1280, 1024}};
  m.channels = m.heads = 1280;
  m.taps = 4;
  m.key_width = m.value_width = 1;
  Block block = block_of(heads_of(4, 4, 64), {2048, true, false});
  block.mixer = m;
  return block;
}

Block gated_delta() {
  Recurrence d;
  d.kind = Recurrence::Kind::kDelta;
  d.projections = {{"KQV", 512, 3 * 256},  {"forget-down", 512, 64}, {"forget-up", 64, 256}, {"step", 512, 4},
                   {"gate-down", 512, 64}, {"gate-up", 64, 256},     {"Out", 256, 512}};
  d.channels = 3 * 256;
  d.taps = 4;
  d.heads = 4;
  d.key_width = d.value_width = 64;
  Block block = block_of(heads_of(4, 4, 64), {2048, true, false});
  block.mixer = d;
  return block;
}

Block crossing() {
  Block block = block_of(heads_of(8, 8, 64), {2048, false, false}, NormKind::kLayer);
  block.cross = heads_of(8, 8, 64);
  return block;
}

Block gated() {
  Block block = block_of(heads_of(16, 2, 256), {5632, true, false});
  auto& attention = std::get<Attention>(block.mixer);
  attention.gated = true;
  attention.qk_norm = QkNorm::kHead;
  return block;
}

Block windowed(Reach reach, Count span) {
  Block block = llama3_8b().decoder().kinds.front();
  auto& attention = std::get<Attention>(block.mixer);
  attention.reach = reach;
  attention.span = span;
  return block;
}

double matrix_flop(const KernelGraph& graph, Direction direction) {
  double sum = 0;
  for (const Kernel& kernel : graph.kernels)
    if (kernel.unit == KernelUnit::kSystolic && kernel.direction == direction && kernel.is_product())
      sum += flop(kernel);
  return sum;
}

double weight_bytes(const KernelGraph& graph, KernelUnit unit = KernelUnit::kSystolic) {
  double sum = 0;
  for (const Kernel& kernel : graph.kernels)
    if (kernel.has_weight() && kernel.unit == unit && kernel.direction == Direction::kForward)
      sum += kernel.second_bytes;
  return sum;
}

double matrix_bytes(const Block& block, Count width) {
  double sum = 0;
  for (const Projection& p : projections(block, width))
    sum += 2.0 * static_cast<double>(p.in) * static_cast<double>(p.out) * static_cast<double>(p.copies);
  return sum;
}

struct Case {
  const char* name;
  Block block;
  Count width;
};

std::vector<Case> cases() {
  return {{"mixture", mixture(), 7168},
          {"latent", latent(), 7168},
          {"mamba", mamba(), 1024},
          {"gated linear", gated_linear(), 1024},
          {"delta", gated_delta(), 512},
          {"cross", crossing(), 512},
          {"gated", gated(), 2048},
          {"window", windowed(Reach::kWindow, 100), 4096},
          {"chunk", windowed(Reach::kChunk, 256), 4096}};
}

TEST(BlockKernels, ForwardFlopIsTheDescriptionsOfEveryKindOfLayer) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Transformer model = model_of(c.block, c.width, 1);
    model.head.outputs = 0;
    if (c.block.cross) {  // an encoder before it, whose own work is taken off
      model.stacks.insert(model.stacks.begin(), model.stacks.front());
      model.stacks.front().kinds.front() = Block{};
    }
    const ForwardFlop expected = forward_flop(model, 1024);
    double attention = expected.attention;
    if (const auto* a = std::get_if<Attention>(&c.block.mixer); a != nullptr && a->reach != Reach::kAll)
      attention *= static_cast<double>(seen_tokens(*a, 1024)) / 1024;
    const KernelGraph graph = graph_of(c.block, c.width, Passes::kForward, {.tokens = 1024});
    EXPECT_DOUBLE_EQ(matrix_flop(graph, Direction::kForward), expected.products + attention);
  }
}

TEST(BlockKernels, WeightsAreTheMatricesOfTheBlock) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(weight_bytes(graph_of(c.block, c.width, Passes::kForwardBackward, {.tokens = 1024})),
              matrix_bytes(c.block, c.width));
  }
}

TEST(BlockKernels, BackwardProductsMakeTwiceTheForwardFlop) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const KernelGraph graph = graph_of(c.block, c.width, Passes::kForwardBackward, {.tokens = 1024});
    EXPECT_DOUBLE_EQ(matrix_flop(graph, Direction::kBackward), 2 * matrix_flop(graph, Direction::kForward));
  }
}

TEST(BlockKernels, GraphsHaveNoCyclesNoTwoNamesAlikeAndNoKernelBesideThem) {
  for (const Case& c : cases())
    for (const Passes passes : {Passes::kForward, Passes::kForwardBackward, Passes::kBackward}) {
      SCOPED_TRACE(c.name);
      const GraphTokens tokens{.tokens = 512};
      const KernelGraph graph = language_model_graph({c.width, {&c.block, &c.block}}, tokens, passes);
      EXPECT_TRUE(names_are_unique(graph));
      EXPECT_TRUE(find_cycle(graph).empty());
      std::vector<int> touched(graph.kernels.size(), 0);
      for (const KernelEdge& edge : graph.edges) {
        ++touched[edge.from];
        ++touched[edge.to];
      }
      for (std::size_t i = 0; i < touched.size(); ++i)
        if (passes != Passes::kBackward) {
          EXPECT_GT(touched[i], 0) << graph.kernels[i].name;
        }
    }
}

TEST(BlockKernels, ExpertsStandSideBySideEachWithItsTokens) {
  const KernelGraph graph = graph_of(mixture(), 7168, Passes::kForward, {.tokens = 2048});
  const Kernel& up = named(graph, "EXPERT_FFN0");
  EXPECT_EQ(up.outer, 256);
  EXPECT_EQ(up.n, 2048 * 8 / 256);
  EXPECT_EQ(up.m, 2 * 2048);
  EXPECT_EQ(up.second_bytes, 2.0 * 256 * 4096 * 7168);
  EXPECT_EQ(named(graph, "ROUTER").m, 256);
  EXPECT_EQ(named(graph, "SHARED_FFN0").n, 2048);
}

TEST(BlockKernels, TokensThatDoNotDivideAreRoundedUp) {
  Block block = mixture();
  std::get<Experts>(block.feed_forward).top_k = 3;
  const KernelGraph graph = graph_of(block, 7168, Passes::kForward, {.tokens = 100});
  EXPECT_EQ(named(graph, "EXPERT_FFN0").outer, 256);
  EXPECT_EQ(named(graph, "EXPERT_FFN0").n, 2);  // 300 / 256
}

TEST(BlockKernels, WhatExpertsMakeIsAddedUpOverTheirChips) {
  const KernelGraph graph = graph_of(mixture(), 7168, Passes::kForwardBackward, {.tokens = 2048});
  int reduced = 0;
  for (const KernelEdge& edge : graph.edges) {
    if (edge.communication == Communication::kNone) continue;
    ++reduced;
    EXPECT_EQ(edge.communication, Communication::kAllReduce);
    EXPECT_EQ(edge.communication_bytes, 2.0 * 2048 * 7168);
    EXPECT_TRUE(graph.kernels[edge.to].name == "COMBINE" || graph.kernels[edge.to].name == "LayerNorm_2_bwd");
  }
  EXPECT_EQ(reduced, 2);
}

TEST(BlockKernels, ATokenVisitsItsExpertsOnlyAndTheOthersLieInMemory) {
  const KernelGraph graph = decoded(mixture(), 7168, {.tokens = 4096, .chips = 16});
  const Kernel& up = named(graph, "EXPERT_FFN0");
  EXPECT_EQ(up.outer, 8);
  EXPECT_EQ(up.n, 1);
  EXPECT_EQ(up.memory_bytes, up.second_bytes / 16);
  EXPECT_EQ(up.dram_extra_bytes * 16 + up.second_bytes, 2.0 * 256 * 4096 * 7168);
}

TEST(BlockKernels, ATokenReadsLatentsAndAbsorbsTheirExpansion) {
  const Block block = latent();
  const KernelGraph graph = decoded(block, 7168, {.tokens = 4096});
  EXPECT_EQ(named(graph, "KV_cache").memory_bytes, 2.0 * (512 + 64) * 4095);
  EXPECT_EQ(named(graph, "MLA_GEMM_1").k, 512 + 64);
  EXPECT_EQ(named(graph, "MLA_GEMM_2").m, 512);
  EXPECT_EQ(weight_bytes(graph), matrix_bytes(block, 7168));
}

TEST(BlockKernels, AWindowHoldsItsLastTokensAndAChunkThoseSinceItBegan) {
  EXPECT_EQ(named(decoded(windowed(Reach::kWindow, 100), 4096, {.tokens = 1000}), "K_cache").n, 100);
  EXPECT_EQ(named(decoded(windowed(Reach::kChunk, 256), 4096, {.tokens = 1000}), "K_cache").n, 999 % 256 + 1);
  EXPECT_EQ(named(decoded(windowed(Reach::kWindow, 100), 4096, {.tokens = 50}), "MHA_GEMM_1").n, 50);
}

TEST(BlockKernels, AWindowOfAnEncoderIsSeenOnBothSides) {
  Attention a = heads_of(1, 1, 64);
  a.causal = false;
  a.reach = Reach::kWindow;
  a.span = 128;
  EXPECT_EQ(seen_tokens(a, 1000), 129);
  EXPECT_EQ(seen_tokens(a, 100), 100);
}

TEST(BlockKernels, AScanPassesOverItsStateOnVectorLanes) {
  const KernelGraph graph = graph_of(mamba(), 1024, Passes::kForward, {.tokens = 512});
  const Kernel& scan = named(graph, "SCAN");
  EXPECT_EQ(scan.unit, KernelUnit::kSimd);
  EXPECT_EQ(flop(scan), 2.0 * 2048 * 16 * 512);
  EXPECT_EQ(flop(named(graph, "CONV")), 2048.0 * 4 * 512);
  EXPECT_TRUE(has_edge(graph, "CONV-MIX_X"));
  EXPECT_TRUE(has_edge(graph, "MIX_X-MIX_DT"));
  EXPECT_TRUE(has_edge(graph, "MIX_DT-SCAN"));
  EXPECT_TRUE(has_edge(graph, "MIX_X-SCAN"));
  EXPECT_EQ(graph.kernels.back().name, "Add_1");  // no feed-forward network
  const KernelGraph token = decoded(mamba(), 1024, {.tokens = 100});
  EXPECT_EQ(named(token, "SCAN").memory_bytes, 2.0 * 2 * 2048 * 16);  // read and written
}

TEST(BlockKernels, AGatedLinearRecurrenceReadsItsGatesFromTheConvolution) {
  const KernelGraph graph = graph_of(gated_linear(), 1024, Passes::kForward, {.tokens = 512});
  EXPECT_TRUE(has_edge(graph, "CONV-MIX_X"));
  EXPECT_TRUE(has_edge(graph, "MIX_X-SCAN"));
  EXPECT_FALSE(has_edge(graph, "MIX_GATES-SCAN"));
  EXPECT_TRUE(has_edge(graph, "MIX_GATES-MIX_GATE"));
  EXPECT_EQ(flop(named(graph, "SCAN")), 2.0 * 1280 * 512);
  const KernelGraph token = decoded(gated_linear(), 1024, {.tokens = 100});
  EXPECT_EQ(named(token, "SCAN").memory_bytes, 2.0 * 2 * 1280);  // read and written
}

TEST(BlockKernels, AttentionToAnEncoderReadsItsTokens) {
  const KernelGraph graph = graph_of(crossing(), 512, Passes::kForward, {.tokens = 100, .source = 1500});
  EXPECT_EQ(named(graph, "CROSS_K").n, 1500);
  EXPECT_EQ(named(graph, "CROSS_K").memory_bytes, 2.0 * 512 * 1500);
  EXPECT_EQ(named(graph, "CROSS_GEMM_1").m, 1500);
  EXPECT_EQ(named(graph, "CROSS_GEMM_1").n, 100);
  const KernelGraph token = decoded(crossing(), 512, {.tokens = 100, .source = 1500});
  EXPECT_EQ(named(token, "CROSS_K_cache").memory_bytes, 2.0 * 512 * 1500);
}

TEST(BlockKernels, LayersSideBySideReadOneNorm) {
  Block block = block_of(heads_of(8, 8, 64), {2048, false, false}, NormKind::kLayer);
  block.parallel = true;
  block.norms = 1;
  const KernelGraph graph = graph_of(block, 512, Passes::kForwardBackward, {.tokens = 64});
  EXPECT_TRUE(has_edge(graph, "LayerNorm_1-FFN0"));
  EXPECT_TRUE(has_edge(graph, "Add_1-Add_2"));
  EXPECT_TRUE(has_edge(graph, "Loss_bwd-DropOut_2_bwd"));
  EXPECT_DOUBLE_EQ(matrix_flop(graph, Direction::kBackward), 2 * matrix_flop(graph, Direction::kForward));
}

TEST(BlockKernels, LayersOfSeveralKindsFollowTheList) {
  const Transformer model = deepseek_v3();
  base::Diagnostics found;
  const GraphLayers layers = layers_of(model.decoder(), 2, 2, found);
  const KernelGraph graph = language_model_graph(layers, {.tokens = 128}, Passes::kForwardBackward);
  EXPECT_NO_THROW(named(graph, "FFN0_layer_1"));
  EXPECT_NO_THROW(named(graph, "EXPERT_FFN0_layer_2"));
  EXPECT_TRUE(has_edge(graph, "Q_DOWN_bwd_layer_2-Loss_bwd_layer_1"));
  EXPECT_TRUE(found.all().empty());
  layers_of(model.decoder(), 60, 2, found);
  EXPECT_EQ(base::codes(found.all()), base::Codes{"O1489"});
}

}  // namespace
}  // namespace orrery::workload
