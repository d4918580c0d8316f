#include "orrery/engines/dataflow/partition/partition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <limits>
#include <numeric>

#include "orrery/engines/dataflow/partition/partition_chain.h"
#include "orrery/engines/dataflow/partition/partition_mip.h"
#include "orrery/engines/dataflow/partition/random_partition_test_util.h"

namespace orrery::dataflow {
namespace {

using testing::PartitionDice;
using testing::random_partition;

// a -> b -> c, DRAM of 2 bytes a ns.
PartitionProblem chain_of_three() {
  PartitionProblem problem;
  problem.configurations = 2;
  problem.dram_bandwidth_gb_per_s = 2;
  problem.kernels = {{.compute_ns = 10, .network_ns = 1, .weight_bytes = 100, .dram_bytes = 7, .last = 1},
                     {.compute_ns = 20, .memory_bytes = 8, .weight_bytes = 50, .dram_bytes = 5, .last = 1},
                     {.compute_ns = 5, .sram_extra_bytes = 3, .last = 1}};
  problem.edges = {
      {.from = 0, .to = 1, .buffer_bytes = 4, .depth = 3, .stream_bytes = 16, .resident_bytes = 32, .network_ns = 2},
      {.from = 1, .to = 2, .buffer_bytes = 6, .stream_bytes = 24, .resident_bytes = 48}};
  return problem;
}

ConfigurationCost price_of(const PartitionProblem& problem, std::vector<int> members) {
  return price(problem, std::span<const int>(members));
}

PartitionProblem long_chain(int kernels) {
  PartitionProblem problem;
  problem.configurations = 6;
  problem.dram_bandwidth_gb_per_s = 1;
  problem.sram_bytes = 1.2 * kernels / 6.0;
  for (int k = 0; k < kernels; ++k)
    problem.kernels.push_back({.compute_ns = 1.0 + k % 7, .weight_bytes = 1, .last = problem.configurations - 1});
  for (int k = 0; k + 1 < kernels; ++k) problem.edges.push_back({.from = k, .to = k + 1, .stream_bytes = 1.0 + k % 5});
  return problem;
}

TEST(PartitionChain, CutsThousandsOfKernelsAtEvenDistances) {
  const PartitionProblem problem = long_chain(3000);
  const PartitionSpace space = partition_space(problem);
  SetPricer pricer(problem);
  const auto cut = best_chain(pricer, space);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(price(problem, *cut).feasible);
  EXPECT_EQ(cut->back(), 5);
}

TEST(PartitionOptimum, WhatNoSolverGetsThroughHasAnAnswerWithItsGap) {
  const PartitionProblem problem = long_chain(2000);
  EXPECT_FALSE(within_reach_of_mip(problem, partition_space(problem)));
  const PartitionOptimum found = optimize(problem);
  ASSERT_TRUE(found.assignment);
  EXPECT_TRUE(found.interrupted);
  EXPECT_FALSE(found.certificate.optimal);
  EXPECT_LE(found.certificate.lower_bound, found.cost.sum_interval_ns);
  EXPECT_LT(found.certificate.gap, 1);
}

TEST(PartitionSpace, CountsStayFinite) {
  PartitionProblem problem = long_chain(2000);
  EXPECT_EQ(partition_space(problem).assignments(), PartitionSpace::kMostCounted);
}

TEST(PartitionPrice, SumsKernelsAndTheirEdges) {
  const ConfigurationCost both = price_of(chain_of_three(), {0, 1});
  EXPECT_EQ(both.compute_ns, 30);
  EXPECT_EQ(both.memory_ns, (8 + 24) / 2.0);  // own traffic, and the edge that is cut
  EXPECT_EQ(both.network_ns, 1 + 2);
  EXPECT_EQ(both.sram_bytes, 150 + 3 * 4 + 2 * 6);
  EXPECT_EQ(both.dram_bytes, 7 + 5 + 48);
  EXPECT_EQ(both.interval_ns, 30);
  EXPECT_EQ(both.bound, Binding::kCompute);
  // A cut is paid at both ends; a conversion at the consumer, wherever the producer ran.
  EXPECT_EQ(price_of(chain_of_three(), {0}).memory_ns, 8);
  EXPECT_EQ(price_of(chain_of_three(), {0}).network_ns, 1);
  EXPECT_EQ(price_of(chain_of_three(), {1}).memory_ns, (16 + 8 + 24) / 2.0);
  EXPECT_EQ(price_of(chain_of_three(), {1}).network_ns, 2);
  EXPECT_EQ(price_of(chain_of_three(), {1}).bound, Binding::kMemory);
}

TEST(PartitionPrice, TheLongerOfTwoGroupsThatCommunicateAtOnceCounts) {
  PartitionProblem problem = chain_of_three();
  problem.overlap = Overlap::kNone;
  problem.kernels[0].beside_ns = 2;
  problem.kernels[2].beside_ns = 5;
  EXPECT_EQ(price_of(problem, {0}).network_ns, 2);
  EXPECT_EQ(price_of(problem, {0, 1}).network_ns, 3) << "of 3 and 2";
  EXPECT_EQ(price_of(problem, {0, 1, 2}).network_ns, 7) << "of 3 and 2 + 5";
  EXPECT_EQ(price_of(problem, {0, 1, 2}).interval_ns, 35 + 4 + 7);
  problem.use_network = false;
  EXPECT_EQ(price_of(problem, {0, 1, 2}).interval_ns, 35 + 4);
}

TEST(PartitionPrice, CombinesTermsAsTheyOverlap) {
  PartitionProblem problem = chain_of_three();
  EXPECT_EQ(price_of(problem, {1}).interval_ns, 24);
  problem.overlap = Overlap::kComputeMemory;
  EXPECT_EQ(price_of(problem, {1}).interval_ns, 24 + 2);
  problem.overlap = Overlap::kNone;
  EXPECT_EQ(price_of(problem, {1}).interval_ns, 20 + 24 + 2);
  problem.use_memory = false;
  EXPECT_EQ(price_of(problem, {1}).interval_ns, 20 + 2);
  EXPECT_EQ(price_of(problem, {1}).bound, Binding::kCompute);
}

TEST(PartitionPrice, AsksNothingForAnEmptyConfiguration) {
  const ConfigurationCost none = price_of(chain_of_three(), {});
  EXPECT_EQ(none.interval_ns, 0);
  EXPECT_EQ(none.bound, Binding::kNothing);
  EXPECT_TRUE(none.fits);
}

TEST(PartitionPrice, TilesAKernelAloneAsLittleAsNeeded) {
  PartitionProblem problem = chain_of_three();
  problem.kernels[1].can_split_weight = true;
  // Input buffers 8; weight 50 and output buffers 12 are divided: 8 + 62 / f.
  problem.sram_bytes = 70;
  EXPECT_EQ(price_of(problem, {1}).weight_split, 1);
  problem.sram_bytes = 69;
  EXPECT_EQ(price_of(problem, {1}).weight_split, 2);
  problem.sram_bytes = 8 + 62 / 5.0;
  EXPECT_EQ(price_of(problem, {1}).weight_split, 5);
  EXPECT_EQ(price_of(problem, {1}).sram_bytes, problem.sram_bytes);
  EXPECT_FALSE(price_of(problem, {1, 2}).fits);
  problem.sram_bytes = 8;
  EXPECT_FALSE(price_of(problem, {1}).fits);
  problem.sram_bytes = 69;
  problem.kernels[1].can_split_weight = false;
  EXPECT_FALSE(price_of(problem, {1}).fits);
}

TEST(PartitionPrice, KeepsCutEdgesInDramFromWriterToReader) {
  PartitionProblem problem = chain_of_three();
  problem.configurations = 4;
  for (PartitionKernel& kernel : problem.kernels) kernel.last = 3;
  const PartitionCost cost = price(problem, std::vector<int>{0, 2, 2});
  EXPECT_EQ(cost.configurations[0].dram_bytes, 12 + 32);
  EXPECT_EQ(cost.configurations[1].dram_bytes, 12 + 32);
  EXPECT_EQ(cost.configurations[2].dram_bytes, 12 + 32);
  EXPECT_EQ(cost.configurations[3].dram_bytes, 12);
  EXPECT_EQ(cost.sum_interval_ns, 10 + 25);
  problem.dram_bytes = 44;
  EXPECT_TRUE(price(problem, std::vector<int>{0, 2, 2}).feasible);
  problem.dram_bytes = 43;
  EXPECT_EQ(price(problem, std::vector<int>{0, 2, 2}).first_violation,
            "44 bytes lie in DRAM while configuration 0 runs, and there is room for 43");
}

TEST(PartitionPrice, SaysWhatAnAssignmentBreaks) {
  PartitionProblem problem = chain_of_three();
  const auto violation = [&](std::vector<int> assignment) { return price(problem, assignment).first_violation; };
  EXPECT_EQ(violation({0, 0, 1}), "");
  EXPECT_EQ(violation({1, 0, 1}), "kernel 2 runs in configuration 0, before kernel 1 in 1, whose output it reads");
  EXPECT_EQ(violation({0, 0, 2}), "kernel 3 is in configuration 2, and there are 2");
  EXPECT_EQ(violation({0, 0}), "2 kernels are assigned, and there are 3");
  problem.kernels[2].last = 0;
  EXPECT_EQ(violation({0, 0, 1}), "kernel 3 is in configuration 1, and may be in 0 to 0");
  problem.kernels[2].last = 1;
  problem.kernels[1].repeat_class = 1;
  EXPECT_EQ(violation({0, 1, 1}), "kernels 2 and 3 share configuration 1, and repeat differently");
  problem.sram_bytes = 10;
  EXPECT_EQ(violation({0, 0, 1}).substr(0, 30), "kernels 1 and 2 share configur");
  problem.kernels[1].repeat_class = 0;
  EXPECT_EQ(violation({0, 0, 1}), "configuration 0 needs 174 bytes of SRAM, and there are 10");
}

// Least maximum over every combination of choices; with memory units, then the fewest units, then cores.
struct Allocation {
  double ns = std::numeric_limits<double>::infinity();
  Count units = 0, cores = 0;
};
Allocation best_allocation(const PartitionProblem& problem) {
  Allocation best;
  std::vector<std::size_t> pick(problem.kernels.size(), 0);
  for (;;) {
    Allocation one{0, 0, 0};
    for (std::size_t k = 0; k < pick.size(); ++k) {
      const CoreChoice& choice = problem.kernels[k].choices[pick[k]];
      one.ns = std::max(one.ns, choice.ns);
      one.cores += choice.cores;
      if (problem.memory_units == 0) continue;
      // One kernel: weight and buffers are tiled only beyond what fits, which these problems never need.
      const auto take = [&](double bytes, bool stages) {
        if (bytes <= 0) return;
        const Count lanes =
            stages ? (choice.stages * problem.systolic_height + problem.systolic_width - 1) / problem.systolic_width
                   : choice.lanes;
        one.units += std::max(static_cast<Count>(std::ceil(bytes / problem.memory_unit_bytes)), lanes);
      };
      take(problem.kernels[k].weight_bytes, false);
      for (const PartitionEdge& edge : problem.edges) {
        if (edge.from == static_cast<int>(k)) take(edge.depth * edge.buffer_bytes, edge.stage_parallel);
      }
    }
    const bool fits = one.cores <= problem.cores && (problem.memory_units == 0 || one.units <= problem.memory_units);
    const auto rank = [](const Allocation& a) { return std::tuple(a.ns, a.units, a.cores); };
    if (fits && rank(one) < rank(best)) best = one;
    std::size_t k = 0;
    while (k < pick.size() && ++pick[k] == problem.kernels[k].choices.size()) pick[k++] = 0;
    if (k == pick.size()) return best;
  }
}

TEST(PartitionPrice, GivesFreeCoresAsWellAsEnumerationDoes) {
  int fitting = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed));
    PartitionProblem problem;
    problem.free_cores = true;
    problem.cores = dice.roll(3, 30);
    problem.dram_bandwidth_gb_per_s = 1;
    const bool units = dice.once_in(2);
    if (units) {
      problem.memory_units = dice.roll(5, 40);
      problem.memory_unit_bytes = dice.roll(1, 4);
      problem.systolic_width = dice.roll(1, 4);
      problem.systolic_height = dice.roll(1, 4);
    }
    const int kernels = dice.roll(1, 4);
    std::vector<int> members;
    for (int k = 0; k < kernels; ++k) {
      PartitionKernel kernel;
      kernel.weight_bytes = dice.size(8);
      for (int j = dice.roll(1, 5); j > 0; --j) {
        const Count lanes = dice.roll(1, 6), stages = dice.roll(1, 3);
        kernel.choices.push_back({lanes * stages, lanes, stages, static_cast<double>(dice.roll(1, 40))});
      }
      problem.kernels.push_back(kernel);
      members.push_back(k);
      if (k > 0) {
        problem.edges.push_back({.from = k - 1,
                                 .to = k,
                                 .buffer_bytes = dice.size(5),
                                 .depth = dice.roll(2, 3),
                                 .stage_parallel = dice.once_in(2)});
      }
    }
    const ConfigurationCost found = price_of(problem, members);
    const Allocation expected = best_allocation(problem);
    ASSERT_EQ(found.fits, expected.cores > 0) << seed;
    if (!found.fits) continue;
    ++fitting;
    ASSERT_EQ(found.compute_ns, expected.ns) << seed;
    Count cores = 0;
    for (const CoreChoice& choice : found.choices) {
      cores += choice.cores;
      ASSERT_LE(choice.ns, found.compute_ns);
    }
    ASSERT_EQ(cores, found.cores);
    ASSERT_LE(cores, problem.cores);
    if (units) {
      ASSERT_EQ(found.memory_units, expected.units) << seed;
      ASSERT_EQ(found.cores, expected.cores) << seed;
    }
  }
  EXPECT_GT(fitting, 300);
}

TEST(PartitionPrice, CountsWholeMemoryUnits) {
  PartitionProblem problem = chain_of_three();
  problem.memory_units = 13;
  problem.memory_unit_bytes = 25;
  // Weights 100 and 50, three buffers of 4, two of 6: 4 + 2 + 1 + 1.
  EXPECT_EQ(price_of(problem, {0, 1}).memory_units, 8);
  problem.memory_units = 7;
  EXPECT_FALSE(price_of(problem, {0, 1}).fits);
  // Alone, the first takes a unit for each half of its weight's half, and one for its output.
  problem.memory_units = 3;
  problem.kernels[0].can_split_weight = true;
  EXPECT_EQ(price_of(problem, {0}).weight_split, 2);
}

TEST(Partition, DecidedProblemsAreOnlyPriced) {
  PartitionProblem problem = chain_of_three();
  problem.kernels[0].last = 0;
  problem.kernels[1].first = 1;
  const PartitionOptimum found = optimize(problem);
  EXPECT_EQ(found.method, "fixed");
  EXPECT_EQ(*found.assignment, (std::vector<int>{0, 1, 1}));  // the third follows the second
  EXPECT_TRUE(found.certificate.optimal);
  problem.sram_bytes = 1;
  EXPECT_TRUE(optimize(problem).infeasible);
}

TEST(Partition, RangesThatContradictAnEdgeAreInfeasible) {
  PartitionProblem problem = chain_of_three();
  problem.kernels[0].first = 1;
  problem.kernels[1].last = 0;
  const PartitionOptimum found = optimize(problem);
  EXPECT_TRUE(found.infeasible);
  EXPECT_FALSE(found.assignment);
  EXPECT_TRUE(found.certificate.optimal);
}

TEST(Partition, NoKernelsCostNothing) {
  PartitionProblem problem;
  const PartitionOptimum found = optimize(problem);
  ASSERT_TRUE(found.assignment);
  EXPECT_EQ(found.cost.sum_interval_ns, 0);
}

TEST(Partition, ACallersBoundHidesSumsAtAndAboveIt) {
  int compared = 0;
  for (int seed = 0; seed < 300; ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed));
    const PartitionProblem problem = random_partition(dice);
    const PartitionOptimum best = optimize(problem);
    if (!best.assignment || best.cost.sum_interval_ns == 0) continue;
    ++compared;
    const double sum = best.cost.sum_interval_ns;
    const PartitionOptimum at = optimize(problem, {.upper_bound_ns = sum});
    ASSERT_FALSE(at.assignment) << seed;
    ASSERT_FALSE(at.infeasible) << seed;
    ASSERT_NEAR(at.certificate.lower_bound, sum, 1e-11 * sum) << seed;
    const PartitionOptimum above = optimize(problem, {.upper_bound_ns = sum * 1.001});
    ASSERT_EQ(above.assignment, best.assignment) << seed;
    ASSERT_TRUE(above.certificate.optimal) << seed;
  }
  EXPECT_GT(compared, 0);
}

TEST(Partition, AGapIsKept) {
  int compared = 0;
  for (int seed = 0; seed < 300; ++seed) {
    PartitionDice dice(static_cast<std::uint64_t>(seed));
    const PartitionProblem problem = random_partition(dice);
    const PartitionOptimum best = optimize(problem), near = optimize(problem, {.gap = 0.2});
    ASSERT_EQ(near.assignment.has_value(), best.assignment.has_value()) << seed;
    if (!best.assignment) continue;
    ++compared;
    const double sum = best.cost.sum_interval_ns;
    ASSERT_LE(near.cost.sum_interval_ns * (1 - 0.2), sum * (1 + 1e-12)) << seed;
    ASSERT_LE(near.certificate.lower_bound, sum * (1 + 1e-12)) << seed;
    ASSERT_LE(near.certificate.gap, 0.2 + 1e-12) << seed;
  }
  EXPECT_GT(compared, 0);
}

// Five rows of twelve kernels, each reading two of the row before, and every cut costs: many ideals, and no tight
// bound.
PartitionProblem wide() {
  PartitionDice dice(5);
  PartitionProblem problem;
  problem.configurations = 8;
  problem.overlap = Overlap::kNone;
  problem.dram_bandwidth_gb_per_s = 1;
  problem.sram_bytes = 300;
  for (int k = 0; k < 60; ++k) {
    problem.kernels.push_back(
        {.compute_ns = 10.0 + dice.roll(0, 30), .weight_bytes = 5.0 + dice.roll(0, 40), .last = 7});
    if (k >= 12) {
      for (int i = 0; i < 2; ++i) {
        const double bytes = 1 + dice.roll(0, 20);
        problem.edges.push_back({.from = k - 12 + (i == 0 ? 0 : dice.roll(1, 11)),
                                 .to = k,
                                 .buffer_bytes = 1,
                                 .stream_bytes = bytes,
                                 .resident_bytes = bytes});
      }
    }
  }
  for (PartitionEdge& edge : problem.edges) edge.from = std::min(edge.from, edge.to - 1);
  return problem;
}

TEST(Partition, AStopYieldsTheBestSoFarAndAnHonestGap) {
  const PartitionProblem problem = wide();
  std::atomic<bool> stop = true;
  PartitionLimits limits{{.stop = &stop}};
  limits.most_ideals = 1'000'000;
  const PartitionOptimum found = optimize(problem, limits);
  ASSERT_TRUE(found.interrupted);
  ASSERT_TRUE(found.assignment);
  EXPECT_TRUE(found.cost.feasible);
  EXPECT_FALSE(found.certificate.optimal);
  EXPECT_GT(found.certificate.lower_bound, 0);
  EXPECT_LE(found.certificate.lower_bound, found.cost.sum_interval_ns);
  EXPECT_GT(found.certificate.gap, 0);
}

TEST(Partition, ATimeLimitHoldsWhicheverSolverRuns) {
  const PartitionProblem problem = wide();
  for (const std::size_t most_ideals : {std::size_t{10}, std::size_t{100'000'000}}) {
    PartitionLimits limits{{.seconds = 0.2}};
    limits.most_ideals = most_ideals;
    const PartitionOptimum found = optimize(problem, limits);
    ASSERT_TRUE(found.interrupted) << found.method;
    ASSERT_TRUE(found.assignment);
    EXPECT_GT(found.certificate.gap, 0);
    EXPECT_LT(found.certificate.seconds, 5);
    EXPECT_LE(found.certificate.lower_bound, found.cost.sum_interval_ns);
  }
}

double sum_or_infinity(const PartitionProblem& problem) {
  const PartitionOptimum found = optimize(problem);
  return found.assignment ? found.cost.sum_interval_ns : std::numeric_limits<double>::infinity();
}

PartitionProblem drawn() {
  PartitionDice dice(*rc::gen::arbitrary<std::uint64_t>());
  return random_partition(dice);
}

RC_GTEST_PROP(PartitionLaws, MoreOfAResourceIsNeverWorse, ()) {
  const PartitionProblem problem = drawn();
  const double sum = sum_or_infinity(problem);
  PartitionProblem richer = problem;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      richer.sram_bytes *= 1.3;
      break;
    case 1:
      richer.dram_bytes *= 1.3;
      break;
    case 2:
      richer.dram_bandwidth_gb_per_s *= 1.3;
      break;
    default:
      richer.cores += 2;
      break;
  }
  RC_ASSERT(sum_or_infinity(richer) <= sum * (1 + 1e-12));
}

RC_GTEST_PROP(PartitionLaws, OneMoreConfigurationIsNeverWorse, ()) {
  const PartitionProblem problem = drawn();
  PartitionProblem richer = problem;
  ++richer.configurations;
  for (PartitionKernel& kernel : richer.kernels) {
    if (kernel.last == problem.configurations - 1) ++kernel.last;
  }
  RC_ASSERT(sum_or_infinity(richer) <= sum_or_infinity(problem) * (1 + 1e-12));
}

RC_GTEST_PROP(PartitionLaws, NamesOfKernelsDoNotMatter, ()) {
  const PartitionProblem problem = drawn();
  std::vector<std::size_t> name(problem.kernels.size());
  std::iota(name.begin(), name.end(), std::size_t{0});
  for (std::size_t i = name.size(); i > 1; --i) {
    std::swap(name[i - 1], name[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  PartitionProblem renamed = problem;
  for (std::size_t k = 0; k < name.size(); ++k) renamed.kernels[name[k]] = problem.kernels[k];
  for (PartitionEdge& edge : renamed.edges) {
    edge.from = static_cast<int>(name[static_cast<std::size_t>(edge.from)]);
    edge.to = static_cast<int>(name[static_cast<std::size_t>(edge.to)]);
  }
  const double sum = sum_or_infinity(problem), again = sum_or_infinity(renamed);
  RC_ASSERT(sum == again || std::abs(sum - again) <= 1e-12 * sum);
}

RC_GTEST_PROP(PartitionLaws, TheBestChainIsNoBetterThanTheOptimum, ()) {
  const PartitionProblem problem = drawn();
  const PartitionSpace space = partition_space(problem);
  if (space.empty) return;
  SetPricer pricer(problem);
  const auto chain = best_chain(pricer, space);
  if (!chain) return;
  const PartitionCost cost = price(problem, *chain);
  RC_ASSERT(cost.feasible);
  RC_ASSERT(sum_or_infinity(problem) <= cost.sum_interval_ns * (1 + 1e-12));
}

}  // namespace
}  // namespace orrery::dataflow
