#include "orrery/describe/workload/graphs/hyena_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::workload {
namespace {

HyenaShape published() {
  HyenaShape shape;
  shape.hidden = 32;
  shape.heads = 2;
  shape.tokens = 262'144;
  return shape;
}

const Kernel& kernel_named(const KernelGraph& graph, const std::string& name) {
  return *std::find_if(graph.kernels.begin(), graph.kernels.end(),
                       [&](const Kernel& kernel) { return kernel.name == name; });
}

// The figures of SSM/Hyena/gemm_fft/256K (kosho2013/DFModel, commit a33985b).
TEST(HyenaGraph, ALayerOf256KTokensHasTheKernelsAndBytesThatArePublished) {
  const KernelGraph graph = hyena_graph(published());
  EXPECT_EQ(graph.kernels.size(), 38U) << "three projections, six transforms of five steps, three products, two layers";
  EXPECT_EQ(graph.edges.size(), 37U);
  const Kernel& query = kernel_named(graph, "Q");
  EXPECT_EQ(query.outer, 2);
  EXPECT_EQ(query.m, 16);
  EXPECT_EQ(query.k, 32);
  EXPECT_EQ(query.input_bytes, 16777216);
  EXPECT_EQ(query.second_bytes, 2048);
  const Kernel& step = kernel_named(graph, "QKi_stage4");
  EXPECT_EQ(step.m, 32);
  EXPECT_EQ(step.k, 32);
  EXPECT_EQ(step.n, 16384);
  EXPECT_EQ(step.inputs, 32);
  EXPECT_EQ(step.input_bytes, 1048576);
  EXPECT_EQ(step.sram_extra_bytes, 16777216);
  EXPECT_EQ(step.dram_extra_bytes, 16777216);
  EXPECT_TRUE(step.skip_weight);
  EXPECT_EQ(kernel_named(graph, "interVmultiply").m, 524288);
  EXPECT_EQ(kernel_named(graph, "FFN0").m, 128);
  EXPECT_EQ(kernel_named(graph, "FFN1").input_bytes, 67108864);
}

TEST(HyenaGraph, EveryEdgeLeadsForwardAndEverythingEndsInTheNetwork) {
  for (const FourierStep step : {FourierStep::kProduct, FourierStep::kVector, FourierStep::kButterfly}) {
    HyenaShape shape = published();
    shape.tokens = 4096;
    shape.step = step;
    const KernelGraph graph = hyena_graph(shape);
    EXPECT_TRUE(find_cycle(graph).empty());
    std::set<int> leads;
    for (const KernelEdge& edge : graph.edges) leads.insert(edge.from);
    EXPECT_EQ(leads.size(), graph.kernels.size() - 1) << "only the last kernel leads nowhere";
  }
}

double work_of_a_transform(HyenaShape shape) {
  double flop = 0;
  const KernelGraph graph = hyena_graph(shape);
  for (const Kernel& kernel : graph.kernels)
    if (kernel.name.starts_with("V_stage"))
      flop += 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.k) * static_cast<double>(kernel.n);
  return flop;
}

TEST(HyenaGraph, ATransformOfSPointsTakesEightSTimesTheLogarithmByButterflies) {
  HyenaShape shape = published();
  shape.step = FourierStep::kButterfly;
  EXPECT_DOUBLE_EQ(work_of_a_transform(shape), 8.0 * 262'144 * 18);
  shape.step = FourierStep::kVector;
  shape.radix = 8;  // 8^6 = 2^18
  EXPECT_DOUBLE_EQ(work_of_a_transform(shape), 8.0 * 262'144 * 18) << "as much work, six steps";
  shape.step = FourierStep::kProduct;
  EXPECT_DOUBLE_EQ(work_of_a_transform(shape), 8.0 * 262'144 * 8 * 6) << "a dense matrix of roots instead";
}

TEST(HyenaGraph, ChipsShareTheChannelsAndGatherThemOnce) {
  HyenaShape shape = published();
  shape.chips = 8;
  const KernelGraph graph = hyena_graph(shape);
  EXPECT_EQ(kernel_named(graph, "Q_stage0").inputs, 4);
  EXPECT_EQ(kernel_named(graph, "Q_stage0").sram_extra_bytes, 16777216 / 8.0);
  double gathered = 0;
  for (const KernelEdge& edge : graph.edges) gathered += edge.communication_bytes;
  EXPECT_EQ(gathered, 16777216) << "the stream, before the network";
}

TEST(HyenaGraph, RefusesSizesThatCannotBe) {
  const auto refused = [](auto change) {
    HyenaShape shape = published();
    change(shape);
    return base::codes_of([&] { hyena_graph(shape); });
  };
  using base::Codes;
  EXPECT_EQ(refused([](HyenaShape& s) { s.hidden = s.tokens = 0; }), (Codes{"O1482", "O1482", "O1482"}));
  EXPECT_EQ(refused([](HyenaShape& s) { s.heads = 3; }), Codes{"O1483"});
  EXPECT_EQ(refused([](HyenaShape& s) { s.radix = 1; }), Codes{"O1490"});
  EXPECT_EQ(refused([](HyenaShape& s) { s.tokens += 1; }), Codes{"O1490"});
  EXPECT_EQ(refused([](HyenaShape& s) { s.radix = 24, s.tokens = 24, s.step = FourierStep::kVector; }), Codes{"O1490"});
  EXPECT_EQ(refused([](HyenaShape& s) { s.chips = 33; }), Codes{"O1490"});
  EXPECT_FALSE(refused([](HyenaShape& s) { s.hidden = s.tokens = base::Count{1} << 40; }).empty());
}

}  // namespace
}  // namespace orrery::workload
