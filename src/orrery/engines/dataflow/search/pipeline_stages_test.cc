#include "orrery/engines/dataflow/search/pipeline_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/search/optimize.h"
#include "orrery/engines/dataflow/search/stage_ideals.h"

namespace orrery::dataflow {
namespace {

dataflow::Setup layers(Count count, Count stages, workload::Passes passes = workload::Passes::kForward) {
  dataflow::Setup setup =
      cases::gpt3({{Link::kRing, 8, 25, Parallelism::kTensor}, {Link::kRing, stages, 25, Parallelism::kPipeline}}, 4);
  setup.system.chips = 8 * stages;
  setup.graph = workload::language_model_graph({.hidden = 1024, .heads = 8}, 256, passes, count);
  auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  model.hidden = 1024;
  model.sequence = 256;
  model.layers = model.layers_in_graph = count;
  return setup;
}

Degrees degrees(Count stages) {
  return {.tensor = 8, .pipeline = stages, .sizes = {8, stages}};
}

TEST(Stages, EqualLayersAreCutBetweenLayersOrAsFast) {
  const dataflow::Setup setup = layers(4, 2);
  const ShardingOptimum sharding = choose_sharding(setup, degrees(2), kCorrected);
  const StageAssignment found = assign_stages(setup, degrees(2), sharding, kCorrected);
  EXPECT_NEAR(found.slowest_ns, found.bound_ns, found.bound_ns * 1e-9);
  for (const workload::KernelEdge& edge : setup.graph.edges) {
    EXPECT_LE(found.stage[static_cast<std::size_t>(edge.from)], found.stage[static_cast<std::size_t>(edge.to)]);
  }
  EXPECT_EQ(found.slowest.graph.kernels.size(), found.kernels.size());
  EXPECT_EQ(found.sharding.sharding.size(), found.kernels.size());
  EXPECT_EQ(layers_per_stage(found.slowest, degrees(2)), 1);
}

TEST(Stages, StagesAreInRangeAndTheSlowestIsNoFasterThanTheBound) {
  for (const Count stages : {1, 2, 3, 5}) {
    const dataflow::Setup setup = layers(2, stages);
    const ShardingOptimum sharding = choose_sharding(setup, degrees(stages), kGen3);
    const StageAssignment found = assign_stages(setup, degrees(stages), sharding, kGen3);
    EXPECT_GE(found.slowest_ns, found.bound_ns * (1 - 1e-12));
    const auto [least, most] = std::minmax_element(found.stage.begin(), found.stage.end());
    EXPECT_GE(*least, 0);
    EXPECT_LT(*most, stages);
  }
}

TEST(Stages, NoOtherCutIntoThreeRunsHasAFasterSlowestStage) {
  dataflow::Setup setup = layers(2, 3);
  setup.execution.compute_utilization = 0.5;  // compute of kernels adds up
  const ShardingOptimum sharding = choose_sharding(setup, degrees(3), kGen3);
  const StageAssignment found = assign_stages(setup, degrees(3), sharding, kGen3);
  Mapping mapping;
  mapping.degrees = degrees(3);
  mapping.sharding = sharding.sharding;
  const PartitionProblem problem = lower(setup, mapping, kGen3);
  const auto price_of = [&](std::size_t from, std::size_t to) {
    double compute = 0, network = 0;
    for (std::size_t k = from; k < to; ++k) {
      compute += problem.kernels[k].compute_ns;
      network += problem.kernels[k].network_ns;
    }
    return std::max(compute, network);
  };
  const std::size_t kernels = problem.kernels.size();
  double best = price_of(0, kernels);
  for (std::size_t a = 0; a <= kernels; ++a)
    for (std::size_t b = a; b <= kernels; ++b)
      best = std::min(best, std::max({price_of(0, a), price_of(a, b), price_of(b, kernels)}));
  EXPECT_NEAR(found.slowest_ns, best, best * 1e-9);
}

// Any graph, any work: against every assignment that never falls along an edge.
TEST(StageIdeals, TheSlowestStageIsAsFastAsInAnyAssignment) {
  std::mt19937_64 generator(11);
  const auto roll = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator); };
  int beaten = 0, kept = 0;
  for (int trial = 0; trial < 400; ++trial) {
    workload::KernelGraph graph;
    graph.kernels.resize(static_cast<std::size_t>(roll(1, 6)));
    const int kernels = static_cast<int>(graph.kernels.size());
    for (int to = 1; to < kernels; ++to)
      for (int from = 0; from < to; ++from)
        if (roll(1, 3) == 1) graph.edges.push_back({from, to});
    StageWork work;
    for (int k = 0; k < kernels; ++k) {
      work.compute.push_back(roll(0, 9));
      work.network.push_back(roll(0, 9));
      work.beside.push_back(roll(0, 9));
    }
    const bool adds = roll(0, 1) == 1;
    const StagePrice price = [adds](double compute, double network) {
      return adds ? compute + network : std::max(compute, network);
    };
    const int stages = roll(1, 4);
    std::vector<int> stage(graph.kernels.size(), 0);
    const auto slowest = [&](const std::vector<int>& of) {
      double most = 0;
      for (int s = 0; s < stages; ++s) {
        double compute = 0, network = 0, beside = 0;
        for (std::size_t k = 0; k < of.size(); ++k) {
          if (of[k] != s) continue;
          compute += work.compute[k];
          network += work.network[k];
          beside += work.beside[k];
        }
        most = std::max(most, price(compute, std::max(network, beside)));
      }
      return most;
    };
    double best = std::numeric_limits<double>::infinity();
    const std::function<void(std::size_t)> assign = [&](std::size_t k) {
      if (k == stage.size()) {
        for (const workload::KernelEdge& edge : graph.edges)
          if (stage[static_cast<std::size_t>(edge.from)] > stage[static_cast<std::size_t>(edge.to)]) return;
        best = std::min(best, slowest(stage));
        return;
      }
      for (int s = 0; s < stages; ++s) {
        stage[k] = s;
        assign(k + 1);
      }
    };
    assign(0);
    const double beat = roll(0, 1) == 1 ? std::numeric_limits<double>::infinity() : best + roll(0, 3);
    const StageSearch found = fastest_stages(graph, work, stages, price, beat);
    ASSERT_TRUE(found.complete);
    ASSERT_EQ(found.stage.has_value(), best < beat) << trial;
    if (!found.stage) {
      ++kept;
      continue;
    }
    ++beaten;
    ASSERT_EQ(slowest(*found.stage), best) << trial;
    for (const workload::KernelEdge& edge : graph.edges)
      ASSERT_LE((*found.stage)[static_cast<std::size_t>(edge.from)], (*found.stage)[static_cast<std::size_t>(edge.to)]);
  }
  EXPECT_GT(beaten, 100);
  EXPECT_GT(kept, 20);
}

TEST(StageIdeals, TooManyAssignmentsAreLeftAlone) {
  workload::KernelGraph graph;
  graph.kernels.resize(20);  // all independent: 2^20 ideals
  const std::vector<double> one(20, 1), none(20, 0);
  const StageSearch found = fastest_stages(
      graph, {one, none, none}, 3, [](double compute, double) { return compute; }, 1e9);
  EXPECT_FALSE(found.complete);
  EXPECT_FALSE(found.stage);
}

// Four kernels side by side.
TEST(Stages, AnAssignmentThatIsNoRunOfTheListIsFound) {
  dataflow::Setup setup = layers(2, 2);
  workload::Kernel product = setup.graph.kernels[2];
  ASSERT_EQ(product.name, "Q_layer_1");
  product.outer = 1;
  setup.graph = {};
  setup.execution.compute_utilization = 0.5;
  for (const Count m : {3072, 2048, 1024, 2048}) {
    product.name = "k" + std::to_string(setup.graph.kernels.size());
    product.m = m;
    setup.graph.kernels.push_back(product);
  }
  // 3 2 1 2: cut in order the slower run has 5; {3, 1} and {2, 2} have 4 each.
  const ShardingOptimum sharding = choose_sharding(setup, degrees(2), kCorrected);
  const StageAssignment found = assign_stages(setup, degrees(2), sharding, kCorrected);
  EXPECT_EQ(found.stage[0], found.stage[2]);
  EXPECT_EQ(found.stage[1], found.stage[3]);
  EXPECT_NEAR(found.slowest_ns, found.bound_ns, 1e-9 * found.bound_ns);
  EXPECT_EQ(found.kernels.size(), 2U);
}

TEST(Stages, AGraphOfAStagesLayersIsNotSpread) {
  const dataflow::Setup setup = layers(4, 1);
  EXPECT_FALSE(spreads_layers(setup, degrees(1), kCorrected));
  EXPECT_TRUE(spreads_layers(setup, degrees(1), kGen3));
  EXPECT_TRUE(spreads_layers(setup, degrees(2), kCorrected));
  EXPECT_FALSE(spreads_layers(layers(1, 2), degrees(2), kGen3));
}

TEST(Stages, TheWholeSearchPlacesTheSlowestStage) {
  const dataflow::Setup setup = layers(4, 2);
  const Placement found = optimize(setup, kCorrected);
  ASSERT_TRUE(found.mapping);
  EXPECT_EQ(found.stage.size(), setup.graph.kernels.size());
  EXPECT_EQ(found.mapping->configuration.size(), found.kernels.size());
  EXPECT_EQ(evaluate(placed(setup, found), *found.mapping, kCorrected).final_ns, found.evaluation.final_ns);
  // Half the layers on each of two stages: about half the time of a sequence.
  const Placement together = optimize(layers(4, 1), kCorrected);
  ASSERT_TRUE(together.mapping);
  EXPECT_LT(found.evaluation.sum_interval_ns, together.evaluation.sum_interval_ns * 0.75);
}

}  // namespace
}  // namespace orrery::dataflow
