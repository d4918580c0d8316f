#include "orrery/engines/dataflow/search/optimize.h"

#include <gtest/gtest.h>

#include <atomic>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

void expect_final(const dataflow::Setup& setup, const Defects& defects, double final_ns) {
  const Placement found = optimize(setup, defects);
  ASSERT_TRUE(found.mapping) << (found.reasons.empty() ? "" : found.reasons[0].message);
  EXPECT_NEAR(found.evaluation.final_ns, final_ns, final_ns * 1e-9);
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_EQ(found.certificate.lower_bound, found.evaluation.final_ns);
  EXPECT_EQ(evaluate(placed(setup, found), *found.mapping, defects).final_ns, found.evaluation.final_ns);
}

// The README case in the corrected form, on three open dimensions.
dataflow::Setup open_network() {
  dataflow::Setup setup = cases::readme();
  setup.system.chips = 64;
  setup.system.network = {{Link::kRing, 0, 50, {}}, {Link::kRing, 0, 50, {}}, {Link::kSwitch, 0, 25, {}}};
  auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  model.tile_size = 1;
  model.layers = 4;
  return setup;
}

TEST(Optimize, FindsTheProvenOptimaOfPublishedCases) {
  expect_final(cases::readme(), kGen1, 78994771025.58195);
  expect_final(cases::gpt3_4x2(), kGen2, 793194560225.28);
  expect_final(cases::gpt3_8x1(), kGen2, 876688724459.52);
  expect_final(cases::hpl_circe(), kGen2, 60300056.879855);
  expect_final(cases::fft_1024(), kGen2, 1357981486.505653);
  expect_final(cases::dlrm_i(), kGen2, 67754278554008.75);
  expect_final(cases::decode(), kGen3, 12577816.575999996);
}

TEST(Optimize, SearchedDegreesAreNoSlowerThanStatedOnes) {
  const dataflow::Setup setup = open_network();
  const Placement searched = optimize(setup, kCorrected);
  ASSERT_TRUE(searched.mapping);
  EXPECT_TRUE(searched.certificate.optimal);
  int stated = 0;
  for (const Allocation& allocation : allocations(setup, kCorrected)) {
    if (++stated % 5 != 0) continue;
    const Placement one = optimize(allocated(setup, allocation), kCorrected);
    if (one.mapping) {
      EXPECT_LE(searched.evaluation.final_ns, one.evaluation.final_ns * (1 + 1e-12));
    }
  }
  EXPECT_GT(stated, 100);
  const dataflow::Setup as_placed = placed(setup, searched);
  EXPECT_EQ(optimize(as_placed, kCorrected).evaluation.final_ns, searched.evaluation.final_ns);
}

TEST(Optimize, ThreadsChangeNothing) {
  const dataflow::Setup setup = open_network();
  const Placement one = optimize(setup, kCorrected);
  const Placement four = optimize(setup, kCorrected, {{.threads = 4}});
  ASSERT_TRUE(one.mapping && four.mapping);
  EXPECT_EQ(one.mapping->configuration, four.mapping->configuration);
  EXPECT_EQ(one.mapping->degrees.sizes, four.mapping->degrees.sizes);
  EXPECT_EQ(one.serves, four.serves);
  EXPECT_EQ(one.evaluation.final_ns, four.evaluation.final_ns);
  EXPECT_EQ(one.certificate.evaluated, four.certificate.evaluated);
  EXPECT_EQ(one.certificate.space, four.certificate.space);
}

TEST(Optimize, MostTileSizesAreSkippedByTheirBounds) {
  const Placement found = optimize(cases::gpt3_4x2(), kCorrected);
  std::uint64_t skipped = 0;
  for (const base::Pruned& pruned : found.certificate.pruned)
    if (pruned.argument == "bound of a tiling") skipped = pruned.count;
  EXPECT_GT(skipped, 20u);
}

// Some tilings of this take minutes to prove, and others, as good, are proven at once.
TEST(Optimize, AHardTilingDoesNotStandBeforeAnEasyOneThatIsAsGood) {
  dataflow::Setup setup = cases::readme();
  setup.graph = workload::language_model_graph({.hidden = 25600, .heads = 160}, 2048, workload::Passes::kBackward, 4);
  setup.execution.configurations = 24;
  setup.system.chips = 8;
  setup.system.network = {{Link::kRing, 8, 50, Parallelism::kTensor}};
  auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  model.layers = model.layers_in_graph = 4;
  model.global_batch = 64;
  model.tile_size = 0;
  setup.execution.separate_reduce_scatter_all_gather = true;
  PlaceLimits limits;
  limits.seconds = 60;
  const Placement found = optimize(setup, kCorrected, limits);
  ASSERT_TRUE(found.mapping);
  EXPECT_TRUE(found.certificate.optimal);
  limits.threads = 2;
  const Placement again = optimize(setup, kCorrected, limits);
  EXPECT_EQ(again.evaluation.final_ns, found.evaluation.final_ns);
  EXPECT_EQ(again.mapping->configuration, found.mapping->configuration);
}

// Figures of an independent implementation of the same rule.
TEST(Optimize, LaterGenerationsGiveEveryConfigurationItsOwnTiles) {
  const dataflow::Setup setup = cases::gpt3_4x2();
  expect_final(setup, kGen2, 793194560225.28);
  const Placement found = optimize(setup, kGen4);
  ASSERT_TRUE(found.mapping);
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_NEAR(found.evaluation.sum_interval_ns, 6753484.8, 1e-3);
  EXPECT_GT(found.mapping->tilings.size(), 1u);
  EXPECT_EQ(evaluate(placed(setup, found), *found.mapping, kGen4).final_ns, found.evaluation.final_ns);
  dataflow::Setup stated = setup;
  std::get<LanguageModelRun>(stated.execution.workload).tile_size = 64;
  EXPECT_NEAR(optimize(stated, kGen4).evaluation.sum_interval_ns, 7172259.84, 1e-2);
}

TEST(Optimize, ATimeLimitStillYieldsAPlacementWithABoundThatHolds) {
  const dataflow::Setup setup = open_network();
  const double best = optimize(setup, kCorrected).evaluation.final_ns;
  const Placement hurried = optimize(setup, kCorrected, {{.seconds = 1e-9}});
  ASSERT_TRUE(hurried.mapping);
  EXPECT_TRUE(hurried.interrupted);
  EXPECT_FALSE(hurried.certificate.optimal);
  EXPECT_GT(hurried.certificate.gap, 0);
  EXPECT_LE(hurried.certificate.lower_bound, best);
  EXPECT_GE(hurried.evaluation.final_ns, best);
}

TEST(Optimize, AStoppedSearchClaimsNothing) {
  const std::atomic<bool> stop = true;
  const Placement stopped = optimize(cases::readme(), kGen1, {{.stop = &stop}});
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_FALSE(stopped.infeasible);
  EXPECT_FALSE(stopped.certificate.optimal);
}

TEST(Optimize, ProgressNeverClaimsABoundAboveTheAnswer) {
  const dataflow::Setup setup = open_network();
  int calls = 0;
  double last_best = 0, largest_bound = 0;
  PlaceLimits limits;
  limits.progress = [&](double best, double bound) {
    ++calls;
    last_best = best;
    largest_bound = std::max(largest_bound, bound);
  };
  const Placement found = optimize(setup, kCorrected, limits);
  EXPECT_GT(calls, 1);
  EXPECT_NEAR(last_best, found.evaluation.final_ns, found.evaluation.final_ns * 1e-12);
  EXPECT_LE(largest_bound, found.evaluation.final_ns * (1 + 1e-12));
}

TEST(Optimize, SequenceParallelismIsSearchedOnFourDimensions) {
  dataflow::Setup setup = open_network();
  setup.system.network.push_back({Link::kRing, 2, 400, {}});
  const Placement found = optimize(setup, kCorrected);
  ASSERT_TRUE(found.mapping);
  const Degrees& degrees = found.mapping->degrees;
  EXPECT_EQ(degrees.tensor * degrees.pipeline * degrees.data * degrees.sequence, 64);
}

}  // namespace
}  // namespace orrery::dataflow
