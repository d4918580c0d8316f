#include "orrery/runtime/tuning/selection/factor_graph.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "orrery/runtime/tuning/selection/consistency.h"
#include "orrery/runtime/tuning/selection/elimination.h"
#include "orrery/runtime/tuning/selection/factor_conflict.h"
#include "orrery/runtime/tuning/selection/factor_graph_test_util.h"

namespace orrery::tuning {
namespace {

int problems(int usual) {
  const char* wanted = std::getenv("ORRERY_PROBLEMS");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

Drawn kind(int i) {
  Drawn like;
  like.variables = 1 + i % 7;
  like.most_values = 1 + i % 5;
  like.factors = 1 + i % 9;
  like.most_scope = 1 + i % 4;
  like.density = i % 3 == 0 ? 1.0 : 0.35 + 0.1 * (i % 7);
  like.tied = i % 2 == 0;
  return like;
}

TEST(FactorGraphs, EqualBruteForceOnThousandsOfRandomOnes) {
  int infeasible = 0;
  for (int i = 0; i < problems(6000); ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(i));
    const FactorGraph graph = random_graph(draw, kind(i));
    const auto truth = brute_force(graph);
    const Minimum found = minimize(graph, {});
    ASSERT_TRUE(found.proven()) << i;
    ASSERT_EQ(found.infeasible, !truth.has_value()) << i;
    if (!truth) {
      ++infeasible;
      continue;
    }
    ASSERT_EQ(found.cost, *truth) << i;
    const Priced priced = price(graph, found.values);
    ASSERT_TRUE(priced.allowed) << i;
    ASSERT_EQ(priced.cost, found.cost) << i;
  }
  EXPECT_GT(infeasible, 100);  // both answers are asked for
}

// Splitting buckets loses the bound's sharpness, never the optimum.
TEST(FactorGraphs, TheSearchWithSplitBucketsFindsTheSameOptimum) {
  Drawn like{14, 3, 24, 3, 0.9, false};
  int split = 0;
  for (int i = 0; i < 40; ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(1000 + i));
    const FactorGraph graph = random_graph(draw, like);
    const Minimum whole = minimize(graph, {});
    ASSERT_TRUE(whole.proven());
    for (const double cells : {9.0, 27.0, 243.0}) {
      const Plan plan = plan_elimination(graph, cells);
      const Buckets buckets = eliminate(graph, plan, {});
      ASSERT_TRUE(buckets.finished);
      split += plan.exact ? 0 : 1;
      if (whole.found) {
        ASSERT_LE(buckets.bound, whole.cost);
      }
      if (plan.exact) {
        ASSERT_EQ(buckets.bound >= kForbidden, whole.infeasible);
      }
    }
  }
  EXPECT_GT(split, 40);
}

// Where the memory does not suffice for whole buckets, the search still proves the same optimum.
TEST(FactorGraphs, LittleMemoryChangesTheWayNotTheAnswer) {
  Drawn like{24, 5, 40, 3, 1.0, false};
  for (int i = 0; i < 4; ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(7 + i));
    const FactorGraph graph = random_graph(draw, like);
    const Minimum whole = minimize(graph, {});
    ASSERT_TRUE(whole.found && whole.proven());
    const base::Limits limits{.seconds = 20, .memory = std::size_t{1} << 30};
    const Minimum little = minimize(graph, base::Budget(limits, 4000));
    ASSERT_TRUE(little.found);
    EXPECT_LE(little.bound, whole.cost);
    EXPECT_GE(little.cost, whole.cost);
    if (little.proven()) {
      EXPECT_EQ(little.cost, whole.cost);
    }
  }
}

TEST(FactorGraphs, AnInterruptLeavesABoundThatHolds) {
  std::mt19937_64 draw(3);
  const FactorGraph graph = random_graph(draw, {20, 4, 30, 3, 1.0, false});
  const std::atomic<bool> stop = true;
  const Minimum stopped = minimize(graph, base::Budget({.memory = 0, .stop = &stop}));
  const Minimum whole = minimize(graph, {});
  EXPECT_FALSE(stopped.proven());
  EXPECT_LE(stopped.bound, whole.cost);
}

// Also where nothing may be spent there is a choice, if there is any, and what it costs lies above the bound.
TEST(FactorGraphs, ALimitThatComesAtOnceLeavesAChoiceAndABoundThatHold) {
  const std::atomic<bool> stop = true;
  const base::Budget nothing({.memory = 0, .stop = &stop});
  int feasible = 0, infeasible = 0, best = 0;
  for (int i = 0; i < problems(6000); ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(400'000 + i));
    const FactorGraph graph = random_graph(draw, kind(i));
    const auto truth = brute_force(graph);
    const Minimum found = minimize(graph, nothing);
    ASSERT_EQ(found.found, truth.has_value()) << i;
    ASSERT_EQ(found.infeasible, !truth.has_value()) << i;
    if (!truth) {
      ++infeasible;
      continue;
    }
    ++feasible;
    ASSERT_LE(found.bound, *truth) << i;
    ASSERT_GE(found.cost, *truth) << i;
    const Priced priced = price(graph, found.values);
    ASSERT_TRUE(priced.allowed) << i;
    ASSERT_EQ(priced.cost, found.cost) << i;
    best += found.cost == *truth ? 1 : 0;
  }
  EXPECT_GT(infeasible, 100);
  EXPECT_GT(best, feasible / 2);
}

TEST(FactorGraphs, MoreRowsNeverCostMoreAndTheOrderOfRowsAndFactorsSaysNothing) {
  for (int i = 0; i < 500; ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(50'000 + i));
    FactorGraph graph = random_graph(draw, kind(i));
    const Minimum before = minimize(graph, {});
    FactorGraph turned = graph;
    std::reverse(turned.factors.begin(), turned.factors.end());
    for (Factor& factor : turned.factors) {
      const std::size_t width = factor.variables.size(), rows = factor.rows();
      Factor other = factor;
      for (std::size_t r = 0; r < rows; ++r) {
        other.costs[r] = 3 * factor.costs[rows - 1 - r];
        std::copy_n(factor.row(rows - 1 - r), width, other.values.begin() + static_cast<std::ptrdiff_t>(r * width));
      }
      factor = other;
    }
    const Minimum after = minimize(turned, {});
    ASSERT_EQ(before.infeasible, after.infeasible);
    if (before.found) {
      ASSERT_EQ(3 * before.cost, after.cost);  // scaled, as all times were
    }
    Factor& grown = graph.factors[static_cast<std::size_t>(i) % graph.factors.size()];
    for (const int v : grown.variables)
      grown.values.push_back(
          static_cast<std::uint16_t>(draw() % static_cast<std::uint64_t>(graph.domains[static_cast<std::size_t>(v)])));
    grown.costs.push_back(500);
    const Minimum more = minimize(graph, {});
    if (before.found) {
      ASSERT_TRUE(more.found);
      ASSERT_LE(more.cost, before.cost);
    }
  }
}

TEST(FactorGraphs, SumsThatLeaveTheIntegersAreSeen) {
  FactorGraph graph{{1}, {{"a", {0}, {0}, {kMostCost / 2}}, {"b", {0}, {0}, {kMostCost / 2 - 1}}}};
  EXPECT_TRUE(graph.sums_fit());
  graph.factors[1].costs[0] = kMostCost / 2;
  EXPECT_FALSE(graph.sums_fit());
}

TEST(Consistency, KeepsEveryChoiceThatIsAllowed) {
  for (int i = 0; i < 1000; ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(90'000 + i));
    const FactorGraph graph = random_graph(draw, kind(i));
    FactorGraph less = graph;
    const Consistency made = make_consistent(less, {});
    const auto truth = brute_force(graph);
    if (made == Consistency::kEmpty) {
      ASSERT_FALSE(truth.has_value());
      continue;
    }
    ASSERT_EQ(brute_force(less), truth);
  }
}

// The set cannot agree, and each smaller one can: tried by brute force.
TEST(Conflicts, AreSmallestSetsThatCannotAgree) {
  int seen = 0;
  for (int i = 0; seen < 150 && i < 4000; ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(200'000 + i));
    Drawn like = kind(i);
    like.density = 0.45;
    like.factors = 3 + i % 5;
    const FactorGraph graph = random_graph(draw, like);
    if (brute_force(graph)) continue;
    ++seen;
    const Conflict conflict = smallest_conflict(graph, {});
    ASSERT_TRUE(conflict.smallest);
    const std::size_t n = graph.factors.size();
    std::size_t least = n + 1;
    for (std::uint64_t set = 1; set < (std::uint64_t{1} << n); ++set) {
      FactorGraph part{graph.domains, {}};
      for (std::size_t f = 0; f < n; ++f)
        if ((set >> f & 1) != 0) part.factors.push_back(graph.factors[f]);
      if (part.factors.size() < least && !brute_force(part)) least = part.factors.size();
    }
    ASSERT_EQ(conflict.factors.size(), least) << i;
    FactorGraph part{graph.domains, {}};
    for (const int f : conflict.factors) part.factors.push_back(graph.factors[static_cast<std::size_t>(f)]);
    ASSERT_FALSE(brute_force(part)) << i;
  }
  EXPECT_EQ(seen, 150);
}

}  // namespace
}  // namespace orrery::tuning
