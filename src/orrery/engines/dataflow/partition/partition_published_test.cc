// The solvers on the graphs of published runs, whose optima are known.
#include <gtest/gtest.h>

#include <limits>

#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/partition/partition_ideals.h"
#include "orrery/engines/dataflow/partition/partition_mip.h"

namespace orrery::dataflow {
namespace {

TEST(PartitionPublished, BothSolversProveTheTrillionParameterLayer) {
  const auto setup = cases::readme();
  const PartitionProblem problem = lower(setup, cases::readme_optimum(setup), kGen1);
  const PartitionOptimum found = optimize(problem);
  EXPECT_EQ(found.method, "order ideals");
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_TRUE(found.ties_broken);
  EXPECT_NEAR(found.cost.sum_interval_ns, 24525758.0849, 1e-3);
  const PartitionOptimum mip = optimize_by_mip(problem, partition_space(problem), {}, {});
  EXPECT_TRUE(mip.certificate.optimal);
  EXPECT_NEAR(mip.cost.sum_interval_ns, found.cost.sum_interval_ns, 1e-7 * found.cost.sum_interval_ns);
}

TEST(PartitionPublished, FreeCoresOverAllTileSizesReachTheProvenOptimum) {
  const auto setup = cases::gpt3_4x2();
  double best = std::numeric_limits<double>::infinity();
  for (Count tiles = 1; tiles <= 2048; tiles *= 2) {
    const Mapping mapping = cases::mapping(setup, {.tensor = 4, .data = 2, .sizes = {4, 2}}, tiles, {});
    const PartitionOptimum found = optimize(lower(setup, mapping, kGen2));
    ASSERT_TRUE(found.certificate.optimal);
    if (found.assignment) best = std::min(best, found.cost.sum_interval_ns);
  }
  EXPECT_NEAR(best, 7172259.84, 1e-2);
}

TEST(PartitionPublished, WeightUpdatesOfTwoLayersAreProvenByBothSolvers) {
  using enum workload::KernelDimension;
  auto setup = cases::readme();
  setup.graph = workload::language_model_graph({.hidden = 25600, .heads = 160, .head_width = 160, .ffn = 102400}, 2048,
                                               workload::Passes::kBackward, 2);
  setup.execution.configurations = 6;
  Mapping mapping;
  mapping.degrees = {.tensor = 8, .pipeline = 128, .sizes = {8, 128}};
  mapping.tiles = 2048;
  const std::vector<workload::KernelDimension> layer = {kNone,  kNone,  kM, kM,     kK,     kNone,  kNone,  kM,
                                                        kOuter, kOuter, kK, kOuter, kOuter, kOuter, kOuter, kOuter,
                                                        kOuter, kM,     kM, kM,     kM,     kM,     kM};
  for (int l = 0; l < 2; ++l) mapping.sharding.insert(mapping.sharding.end(), layer.begin(), layer.end());
  PartitionProblem problem = lower(setup, mapping, kGen1);
  for (PartitionKernel& kernel : problem.kernels) kernel.first = 0;
  // Slow DRAM: what is cut decides.
  problem.dram_bandwidth_gb_per_s = 20;
  const PartitionOptimum found = optimize(problem);
  EXPECT_EQ(found.method, "order ideals");
  ASSERT_TRUE(found.certificate.optimal);
  const PartitionOptimum mip = optimize_by_mip(problem, partition_space(problem), {}, found.assignment);
  EXPECT_TRUE(mip.certificate.optimal);
  EXPECT_NEAR(mip.cost.sum_interval_ns, found.cost.sum_interval_ns, 1e-7 * found.cost.sum_interval_ns);
}

}  // namespace
}  // namespace orrery::dataflow
