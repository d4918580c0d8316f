#include "orrery/engines/dataflow/search/sharding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/graphs/kernel_builder.h"
#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/engines/dataflow/model/network_time.h"
#include "orrery/engines/dataflow/search/reference_sharding.h"

namespace orrery::dataflow {
namespace {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::KernelEdge;
using workload::KernelGraph;
using workload::Operands;

constexpr KernelDimension kAll[] = {KernelDimension::kOuter, KernelDimension::kM, KernelDimension::kK,
                                    KernelDimension::kN, KernelDimension::kNone};

Setup setup_on_ring(KernelGraph graph, Count chips, double gb_per_s = 50) {
  dataflow::Setup setup;
  setup.graph = std::move(graph);
  setup.system.chips = chips;
  setup.system.network = {{Link::kRing, chips, gb_per_s, Parallelism::kTensor}};
  setup.execution.workload = LanguageModelRun{};
  return setup;
}

Degrees tensor_parallel(Count chips) {
  Degrees degrees;
  degrees.tensor = chips;
  degrees.sizes = {chips};
  return degrees;
}

workload::PlainTransformer trillion() {
  return {.hidden = 25600, .heads = 160};
}

KernelGraph training() {
  return language_model_graph(trillion(), 2048, workload::Passes::kForwardBackward);
}

std::string letters(const std::vector<KernelDimension>& shardings) {
  std::string text;
  for (const KernelDimension dimension : shardings) text += "oMKN-"[static_cast<int>(dimension)];
  return text;
}

TEST(Sharding, TheReferenceTableHoldsForGraphsOfItsShapeWhateverTheirSizesAndNames) {
  KernelGraph graph = training();
  for (Kernel& kernel : graph.kernels) kernel.name = "x";
  const ShardingOptimum found = choose_sharding(setup_on_ring(graph, 8), tensor_parallel(8), kGen1);
  EXPECT_EQ(found.rule, "reference table");
  EXPECT_EQ(letters(found.sharding), "--oooooooK---MMK-M--MMK--MooKooooooMMMMMM");
  EXPECT_EQ(found.communication_bytes, 419'430'400);
  const KernelGraph forward = language_model_graph({.hidden = 512, .heads = 4}, 128, workload::Passes::kForward);
  EXPECT_EQ(letters(*reference_sharding(forward)), "--oooooooK---MMK--");
  EXPECT_EQ(letters(*reference_sharding(workload::decode_graph({.hidden = 512, .heads = 4}, 77, 4))),
            "--oooooooooK---MMK--");
}

TEST(Sharding, HeadsAndExpertsReadTheWholeStreamAndTheirOwnParts) {
  using enum KernelDimension;
  KernelGraph graph;
  graph.kernels = {workload::elementwise("norm", {1, 64, 1, 32}, 4096, 4096),
                   workload::weight_product("experts", {8, 16, 64, 8}, 8192, 16384, 2048),
                   workload::elementwise("act", {8, 16, 1, 8}, 2048, 2048),
                   workload::weight_product("down", {8, 64, 16, 8}, 2048, 16384, 8192)};
  graph.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 2, .to = 3}};
  EXPECT_EQ(consumer_layout(graph, graph.edges[0], kOuter), TensorLayout::kReplicated);
  EXPECT_EQ(consumer_layout(graph, graph.edges[1], kOuter), TensorLayout::kRowSharded);
  EXPECT_EQ(consumer_layout(graph, graph.edges[2], kOuter), TensorLayout::kRowSharded);
  EXPECT_EQ(conversion(graph, graph.edges[0], kM, kOuter).communication, Communication::kAllGather);
  EXPECT_EQ(conversion(graph, graph.edges[0], kNone, kOuter).communication, Communication::kNone);
}

TEST(Sharding, AGraphWithAnotherShapeOrEdgeIsNotOfTheReference) {
  KernelGraph graph = training();
  graph.kernels[13].m += 1;
  EXPECT_FALSE(reference_sharding(graph));
  graph = training();
  std::swap(graph.edges[3].to, graph.edges[4].to);
  EXPECT_FALSE(reference_sharding(graph));
  graph = training();
  graph.edges.pop_back();
  EXPECT_FALSE(reference_sharding(graph));
}

TEST(Sharding, TheOptimumOfAReferenceGraphCommunicatesAsFewBytesAsTheTable) {
  KernelGraph graph = training();
  graph.kernels[40].name = "another";
  graph.kernels[40].m = 12800;  // no longer of the reference's shape
  const ShardingOptimum found = choose_sharding(setup_on_ring(graph, 8), tensor_parallel(8), kGen2);
  EXPECT_EQ(found.rule, "optimised");
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_EQ(found.communication_bytes, 419'430'400);
}

TEST(Sharding, WithoutAGenerationTheTableIsNotUsedAndTheTimeIsNotLonger) {
  const dataflow::Setup setup = setup_on_ring(training(), 8);
  const ShardingOptimum found = choose_sharding(setup, tensor_parallel(8), kCorrected);
  EXPECT_EQ(found.rule, "optimised");
  EXPECT_TRUE(found.certificate.optimal);
  // Six all-gathers and half of an all-reduce's bytes more, where the table has four all-reduces of two gathers each.
  EXPECT_DOUBLE_EQ(found.communication_ns, 7 * 104857600.0 * 7 / (8 * 100));
  EXPECT_LT(found.communication_ns, 4 * 2 * 104857600.0 * 7 / (8 * 100));
}

TEST(Sharding, PinsHoldAgainstTheTableAndTheOptimum) {
  dataflow::Setup setup = setup_on_ring(training(), 8);
  setup.graph.kernels[13].sharding = KernelDimension::kK;
  for (const Defects& defects : {kGen1, kCorrected}) {
    EXPECT_EQ(choose_sharding(setup, tensor_parallel(8), defects).sharding[13], KernelDimension::kK);
  }
}

TEST(Sharding, PinsThatContradictTheirKernelsAreToldTogether) {
  dataflow::Setup setup = setup_on_ring(training(), 8);
  setup.graph.kernels[9].sharding = KernelDimension::kOuter;  // of size 1
  setup.graph.kernels[10].sharding = KernelDimension::kN;     // tiled
  setup.graph.kernels[13].sharding = KernelDimension::kNone;  // has a weight
  setup.graph.kernels[14].sharding = KernelDimension::kK;     // elementwise
  const auto errors = base::refused([&] { choose_sharding(setup, tensor_parallel(8), kGen1); });
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors.at(0).code, "O1440");
  EXPECT_EQ(errors.at(0).message, "kernel 10 `PROJ_GEMM` cannot be sharded along outer");
  EXPECT_EQ(errors.at(0).notes[0], "outer is 1 and cannot be split");
  EXPECT_EQ(errors[1].notes[0], "N is tiled over time and cannot be split over chips too");
  EXPECT_TRUE(allowed_shardings(setup.graph, 9).empty());
}

TEST(Sharding, AnEdgeAsLargeAsTheFirstInputIsTheFirst) {
  KernelGraph graph;
  graph.kernels.resize(2);
  graph.kernels[0].output_bytes = 100;
  graph.kernels[1].input_bytes = 100;
  graph.kernels[1].second_bytes = 60;
  graph.edges = {{0, 1}};
  EXPECT_EQ(consumer_layout(graph, graph.edges[0], KernelDimension::kM), TensorLayout::kReplicated);
  EXPECT_EQ(consumer_layout(graph, graph.edges[0], KernelDimension::kK), TensorLayout::kRowSharded);
  graph.kernels[0].output_bytes = 60;
  EXPECT_EQ(consumer_layout(graph, graph.edges[0], KernelDimension::kM), TensorLayout::kRowSharded);
  EXPECT_EQ(consumer_layout(graph, graph.edges[0], KernelDimension::kK), TensorLayout::kColumnSharded);
  graph.kernels[1].tiling = KernelDimension::kK;
  EXPECT_EQ(consumer_layout(graph, graph.edges[0], KernelDimension::kN), TensorLayout::kRowSharded);
}

TEST(Sharding, SplitRowsAreGatheredForAWholeConsumerAndExchangedForSplitColumns) {
  KernelGraph graph;
  graph.kernels.resize(2);
  graph.kernels[0].output_bytes = 100;
  graph.kernels[1].operands = Operands::kOneElementwise;
  graph.edges = {{0, 1}};
  const auto converted = [&](KernelDimension from, KernelDimension to) {
    return conversion(graph, graph.edges[0], from, to).communication;
  };
  EXPECT_EQ(converted(KernelDimension::kM, KernelDimension::kNone), Communication::kAllGather);
  EXPECT_EQ(converted(KernelDimension::kM, KernelDimension::kN), Communication::kAllToAll);
  EXPECT_EQ(converted(KernelDimension::kN, KernelDimension::kM), Communication::kAllToAll);
  EXPECT_EQ(converted(KernelDimension::kK, KernelDimension::kM), Communication::kNone);
  EXPECT_EQ(converted(KernelDimension::kOuter, KernelDimension::kM), Communication::kNone);
  graph.edges[0].communication = Communication::kAllGather;
  graph.edges[0].communication_bytes = 7;
  EXPECT_EQ(conversion(graph, graph.edges[0], KernelDimension::kK, KernelDimension::kM).bytes, 7);
}

KernelGraph random_graph() {
  KernelGraph graph;
  const int kernels = *rc::gen::inRange(1, 7);
  for (int i = 0; i < kernels; ++i) {
    Kernel kernel;
    kernel.operands = static_cast<Operands>(*rc::gen::inRange(0, 4));
    kernel.unit = kernel.is_product() ? workload::KernelUnit::kSystolic : workload::KernelUnit::kSimd;
    kernel.outer = *rc::gen::element(1, 1, 1, 4);
    kernel.m = *rc::gen::element(1, 4, 6);
    kernel.n = *rc::gen::element(1, 4, 6);
    kernel.k = kernel.is_product() ? *rc::gen::element(1, 4, 6) : 1;
    kernel.tiling = *rc::gen::element(KernelDimension::kN, KernelDimension::kK, KernelDimension::kNone);
    kernel.input_bytes = *rc::gen::element(8, 16, 24);
    kernel.output_bytes = *rc::gen::element(8, 16, 24);
    if (*rc::gen::inRange(0, 8) == 0) {
      kernel.communication = Communication::kAllToAll;
      kernel.communication_bytes = 5;
    }
    graph.kernels.push_back(kernel);
  }
  for (int to = 1; to < kernels; ++to) {
    for (int from = 0; from < to; ++from)
      if (*rc::gen::inRange(0, 2) == 0) graph.edges.push_back({from, to});
  }
  return graph;
}

// What the header promises, added up in the plainest way; sizes are small integers, the rates powers of two.
struct Plain {
  double ns = 0, bytes = 0, flop = 0, buffers = 0;
};

Plain plain_price(const Setup& setup, const Degrees& degrees, const std::vector<KernelDimension>& sharding) {
  const KernelGraph& graph = setup.graph;
  const double chips = static_cast<double>(degrees.tensor);
  Plain sum;
  const auto add = [&](Communication communication, double bytes) {
    if (communication == Communication::kNone) return;
    sum.bytes += bytes;
    sum.ns += group_charges(setup.system, degrees, Parallelism::kTensor, kCorrected, false).of(communication).ns(bytes);
  };
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const Kernel& kernel = graph.kernels[i];
    if (kernel.communication != Communication::kNone) {
      add(kernel.communication, kernel.communication_bytes);
    } else if (sharding[i] == KernelDimension::kK) {
      add(Communication::kAllReduce, kernel.output_bytes);
    }
    const bool rows = sharding[i] == KernelDimension::kOuter || sharding[i] == KernelDimension::kM;
    const double m = std::ceil(static_cast<double>(kernel.outer * kernel.m) / (rows ? chips : 1));
    const double k = std::ceil(static_cast<double>(kernel.k) / (sharding[i] == KernelDimension::kK ? chips : 1));
    const double n = std::ceil(static_cast<double>(kernel.n) / (sharding[i] == KernelDimension::kN ? chips : 1));
    sum.flop += kernel.unit == workload::KernelUnit::kSystolic ? 2 * m * k * n : m * n;
    for (const KernelEdge& edge : graph.edges)
      if (edge.from == static_cast<int>(i)) sum.buffers += m * n * 2;
  }
  for (const KernelEdge& edge : graph.edges) {
    const EdgeConversion needed = conversion(graph, edge, sharding[edge.from], sharding[edge.to]);
    add(needed.communication, needed.bytes);
  }
  return sum;
}

void compare_with_enumeration() {
  const Count chips = 4;
  dataflow::Setup setup = setup_on_ring(random_graph(), chips, 1);
  // Powers of two, or three times one: many ties.
  setup.system.network[0].link = *rc::gen::element(Link::kFullyConnected, Link::kSwitch);
  const bool corrected = *rc::gen::arbitrary<bool>();
  const Degrees degrees = tensor_parallel(chips);
  const std::size_t kernels = setup.graph.kernels.size();
  std::vector<KernelDimension> sharding(kernels), best;
  Plain least;
  const std::function<void(std::size_t)> enumerate = [&](std::size_t at) {
    if (at < kernels) {
      const std::vector<KernelDimension> allowed = allowed_shardings(setup.graph, static_cast<int>(at));
      RC_ASSERT(!allowed.empty());
      for (const KernelDimension dimension : kAll) {
        if (std::find(allowed.begin(), allowed.end(), dimension) == allowed.end()) continue;
        sharding[at] = dimension;
        enumerate(at + 1);
      }
      return;
    }
    const Plain here = plain_price(setup, degrees, sharding);
    const auto key = [&](const Plain& plain) {
      return std::tuple(corrected ? plain.ns : plain.bytes, plain.flop, plain.buffers);
    };
    if (best.empty() || key(here) < key(least)) {
      best = sharding;
      least = here;
    }
  };
  enumerate(0);
  const ShardingOptimum found = choose_sharding(setup, degrees, corrected ? kCorrected : kGen2);
  RC_ASSERT(found.certificate.optimal);
  RC_ASSERT(letters(found.sharding) == letters(best));
  RC_ASSERT(found.communication_bytes == least.bytes);
}

RC_GTEST_PROP(Sharding, TheChoiceIsTheFirstOfTheLeastThatEnumerationFinds, ()) {
  for (int graph = 0; graph < 30; ++graph) compare_with_enumeration();
}

}  // namespace
}  // namespace orrery::dataflow
