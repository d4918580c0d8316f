#include "orrery/dataflow/stages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/dataflow/optimize.h"
#include "orrery/dataflow/published_cases_test_util.h"

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
