// Joint sharding against trying everything on random small setups, and on published cases.
#include "orrery/engines/dataflow/search/joint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/model/random_setup_test_util.h"
#include "orrery/engines/dataflow/partition/partition_bound.h"
#include "orrery/engines/dataflow/search/joint_terms.h"

namespace orrery::dataflow {
namespace {

using random_setup::best_of_all;
using random_setup::Dice;
using random_setup::draw;
using workload::KernelDimension;

TEST(JointBruteForce, TheOptimumEqualsTheBestOfAllShardingsAndPartitions) {
  int solved = 0, infeasible = 0, better = 0, rescued = 0;
  long tried = 0;
  for (int seed = 1; seed <= random_setup::problems(1500) && !HasFailure(); ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const dataflow::Setup setup = draw(dice, 3);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Placement found;
    try {
      found = optimize_jointly(setup);
    } catch (const base::InputError&) {
      continue;  // what optimize() refuses
    }
    const double best = best_of_all(setup, true, tried);
    if (std::isinf(best)) {
      ++infeasible;
      EXPECT_FALSE(found.mapping);
      EXPECT_TRUE(found.infeasible);
      continue;
    }
    ++solved;
    ASSERT_TRUE(found.mapping);
    EXPECT_NEAR(found.evaluation.final_ns, best, best * 1e-9);
    EXPECT_TRUE(found.certificate.optimal);
    EXPECT_EQ(evaluate(placed(setup, found), *found.mapping, kCorrected).final_ns, found.evaluation.final_ns);
    if (!found.two_passes) continue;
    if (found.two_passes->final_ns == 0)
      ++rescued;
    else if (found.two_passes->loss(found.evaluation.final_ns) > 1e-9)
      ++better;
    EXPECT_TRUE(found.two_passes->final_ns == 0 || found.evaluation.final_ns <= found.two_passes->final_ns);
  }
  EXPECT_GT(solved, infeasible);
  EXPECT_GT(better, 20) << "two passes lose somewhere";
  EXPECT_GT(rescued, 0) << "or find nothing where something fits";
  RecordProperty("solved", solved);
  RecordProperty("better", better);
  RecordProperty("tried", std::to_string(tried));
}

// Every sharding out of random sets costs at least what their relaxation does.
TEST(JointTerms, ARelaxationBoundsEveryShardingOutOfItsSets) {
  int compared = 0;
  for (int seed = 1; seed <= 400; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 77'000);
    dataflow::Setup setup = draw(dice, 4);
    setup.system.network = {
        {dice.one_of({Link::kRing, Link::kSwitch, Link::kFullyConnected}), 4, 3.0, Parallelism::kTensor}};
    setup.system.chips = 4;
    std::vector<std::vector<KernelDimension>> allowed;
    for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k)
      allowed.push_back(allowed_shardings(setup.graph, static_cast<int>(k)));
    Mapping mapping;
    mapping.degrees = {.tensor = 4, .sizes = {4}};
    mapping.tiles = 1;
    mapping.tile_size = std::get<LanguageModelRun>(setup.execution.workload).sequence;
    const JointTerms terms(setup, mapping, allowed, nullptr);
    ShardingSets sets = terms.all();
    ShardingSets one = sets;
    for (std::size_t k = 0; k < sets.size(); ++k) {
      const int chosen = dice.roll(0, static_cast<int>(allowed[k].size()) - 1);
      one[k] = static_cast<std::uint8_t>(1 << chosen);
      sets[k] = static_cast<std::uint8_t>(sets[k] & (one[k] | dice.roll(0, 255)));
    }
    const PartitionProblem loose = terms.relaxed(sets), tight = terms.relaxed(one);
    mapping.sharding = terms.sharding(one);
    const PartitionProblem real = lower(setup, mapping, kCorrected);
    std::vector<int> assignment(real.kernels.size());
    for (std::size_t k = 0; k < assignment.size(); ++k)
      assignment[k] = dice.roll(real.kernels[k].first, real.kernels[k].last);
    const PartitionCost bound = price(loose, assignment), same = price(tight, assignment),
                        cost = price(real, assignment);
    EXPECT_EQ(same.feasible, cost.feasible) << seed;
    EXPECT_NEAR(same.sum_interval_ns, cost.sum_interval_ns, 1e-12 * cost.sum_interval_ns) << seed;
    if (!cost.feasible) continue;
    ++compared;
    EXPECT_TRUE(bound.feasible) << seed << bound.first_violation;
    EXPECT_LE(bound.sum_interval_ns, cost.sum_interval_ns * (1 + 1e-12)) << seed;
    EXPECT_LE(interval_bound(loose, partition_space(loose)), cost.sum_interval_ns) << seed;
  }
  EXPECT_GT(compared, 50);
}

TEST(Joint, ThePublishedModelEndsNoLaterThanInTwoPassesWithProof) {
  dataflow::Setup setup = cases::readme();
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 8;
  const Placement first = optimize(setup, kCorrected), joint = optimize_jointly(setup);
  ASSERT_TRUE(joint.mapping && joint.two_passes);
  EXPECT_TRUE(joint.certificate.optimal);
  EXPECT_EQ(joint.two_passes->final_ns, first.evaluation.final_ns);
  EXPECT_LE(joint.evaluation.final_ns, first.evaluation.final_ns);
}

TEST(Joint, WhereNothingIsToBeShardedItIsTheAnswerOfTwoPasses) {
  const dataflow::Setup setup = cases::fft_1024();
  const Placement found = optimize_jointly(setup);
  EXPECT_FALSE(found.two_passes);
  EXPECT_EQ(found.evaluation.final_ns, optimize(setup, kCorrected).evaluation.final_ns);
}

TEST(Joint, ALimitOfTimeLeavesAnAnswerAndABound) {
  dataflow::Setup setup = cases::readme();
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 0;
  PlaceLimits limits;
  limits.seconds = 1e-9;
  const Placement found = optimize_jointly(setup, limits);
  ASSERT_TRUE(found.mapping);
  EXPECT_GT(found.certificate.lower_bound, 0);
  EXPECT_LE(found.certificate.lower_bound, optimize_jointly(setup).evaluation.final_ns);
  EXPECT_GE(found.evaluation.final_ns, found.certificate.lower_bound);
}

}  // namespace
}  // namespace orrery::dataflow
