// What must hold of best loop trees, whatever the problem; and figures that AccelForge (1c1929c) gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/engines/fused/model/evaluate.h"
#include "orrery/engines/fused/search/labels.h"
#include "orrery/engines/fused/search/random_fused_test_util.h"

namespace orrery::fused {
namespace {

constexpr int kProblems = 150;

double best(const Problem& problem, const SearchOptions& options) {
  const Result found = optimize(problem, options);
  return found.best ? goal_value(options.goal, found.best->energy, found.best->latency) : kUnlimited;
}

void expect_at_most(double a, double b, int problem) {
  if (b == kUnlimited) return;
  EXPECT_LE(a, b * (1 + 1e-9)) << problem;
}

TEST(FusedLaws, MoreFreedomNeverHurts) {
  for (int i = 0; i < kProblems; ++i) {
    const Problem problem = RandomProblem(static_cast<std::uint64_t>(10'000 + i)).make();
    for (const Goal goal : {Goal::kEnergy, Goal::kDelay, Goal::kEdp}) {
      SearchOptions options;
      options.goal = goal;
      options.fused_loops = 1;
      const double one = best(problem, options);
      SearchOptions changed = options;
      changed.fuse = false;
      expect_at_most(one, best(problem, changed), i);
      changed = options;
      changed.fused_loops = 2;
      expect_at_most(best(problem, changed), one, i);
      changed.loops_per_variable = 2;
      expect_at_most(best(problem, changed), one, i);
      Problem larger = problem;
      for (Storage& storage : larger.machine.storages) storage.capacity *= 2;
      expect_at_most(best(larger, options), one, i);
    }
  }
}

TEST(FusedLaws, NamesDoNotMatter) {
  for (int i = 0; i < kProblems; ++i) {
    const Problem problem = RandomProblem(static_cast<std::uint64_t>(20'000 + i)).make();
    Problem other = problem;
    std::reverse(other.variables.begin(), other.variables.end());
    std::reverse(other.tensors.begin(), other.tensors.end());
    const int last_variable = static_cast<int>(other.variables.size()) - 1;
    const int last_tensor = static_cast<int>(other.tensors.size()) - 1;
    for (Einsum& e : other.einsums) {
      for (int& v : e.variables) v = last_variable - v;
      for (Access& access : e.accesses) {
        access.tensor = last_tensor - access.tensor;
        for (int& v : access.variables) v = last_variable - v;
      }
    }
    SearchOptions options;
    const double mine = best(problem, options);
    const double its = best(other, options);
    EXPECT_TRUE(mine == its || std::abs(mine - its) <= 1e-9 * mine) << i;
  }
}

TEST(FusedLaws, TheFrontHasTheBestOfEachGoal) {
  for (int i = 0; i < kProblems; ++i) {
    const Problem problem = RandomProblem(static_cast<std::uint64_t>(30'000 + i)).make();
    SearchOptions options;
    options.front = true;
    const Result front = optimize(problem, options);
    options.front = false;
    for (std::size_t p = 1; p < front.front.size(); ++p) {
      EXPECT_LT(front.front[p - 1].energy, front.front[p].energy) << i;
      EXPECT_GT(front.front[p - 1].latency, front.front[p].latency) << i;
    }
    for (const Goal goal : {Goal::kEnergy, Goal::kDelay, Goal::kEdp}) {
      options.goal = goal;
      double least = kUnlimited;
      for (const Solution& one : front.front) least = std::min(least, goal_value(goal, one.energy, one.latency));
      const double wanted = best(problem, options);
      EXPECT_TRUE(least == wanted || std::abs(least - wanted) <= 1e-9 * wanted) << i;
    }
  }
}

// What was found, demanded, is found again; everything in the outermost storage is no fusion.
TEST(FusedLaws, ConstraintsOfExchangesHold) {
  int fused = 0;
  for (int i = 0; i < kProblems; ++i) {
    Problem problem = RandomProblem(static_cast<std::uint64_t>(40'000 + i)).make();
    SearchOptions options;
    const Result found = optimize(problem, options);
    if (!found.best) continue;
    SearchOptions none = options;
    none.fuse = false;
    Problem outermost = problem;
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      FuseRule rule;
      rule.tensor = static_cast<int>(t);
      if (problem.tensors[t].kind != TensorKind::kIntermediate) continue;
      rule.at = 0;
      outermost.fuse.push_back(rule);
      for (const Branch& branch : found.best->tree.branches)
        for (int a = 0; a <= problem.einsums[branch.einsum].output(); ++a)
          if (problem.einsums[branch.einsum].accesses[a].tensor == static_cast<int>(t))
            rule.at = exchange_of(problem, branch, a).storage;
      fused += rule.at > 0 ? 1 : 0;
      problem.fuse.push_back(rule);
    }
    EXPECT_DOUBLE_EQ(best(problem, options), goal_value(options.goal, found.best->energy, found.best->latency)) << i;
    EXPECT_EQ(best(outermost, options), best(outermost, none)) << i;
  }
  EXPECT_GT(fused, kProblems / 3);
}

TEST(FusedLaws, TimeLimitsLeaveABound) {
  const Problem problem = RandomProblem(1).make();
  SearchOptions options;
  options.limits.seconds = 1e-9;
  const Result early = optimize(problem, options);
  const Result late = optimize(problem, {});
  ASSERT_TRUE(late.certificate.optimal);
  EXPECT_LE(early.certificate.lower_bound, late.certificate.lower_bound * (1 + 1e-9));
}

// Two matrix products, M = 64, 32 to 64 to 32, in words of 8 bits: outer storage 64 a bit at 32 bits a cycle, a level
// of 2 or 1 KiB at 1 a bit and 4,096 bits, a unit at 0.5 an operation, 256 a cycle.
Problem two_products(double capacity) {
  Problem p;
  p.variables = {{"m", 64}, {"n0", 32}, {"n1", 64}, {"n2", 32}};
  p.tensors = {{"T0", TensorKind::kInput, {"M", "N0"}, 8},
               {"W0", TensorKind::kWeight, {"N0", "N1"}, 8},
               {"T1", TensorKind::kIntermediate, {"M", "N1"}, 8},
               {"W1", TensorKind::kWeight, {"N1", "N2"}, 8},
               {"T2", TensorKind::kOutput, {"M", "N2"}, 8}};
  p.machine.storages = {{"outer", 0, kUnlimited, 64, 64, 32, 32, Ports::kShared, 0, false},
                        {"level", 1, capacity, 1, 1, 4096, 4096, Ports::kShared, 0, true}};
  p.machine.units = {{"unit", 2, 0.5, 256, 0}};
  const auto einsum = [&](const char* name, std::vector<int> variables, std::vector<Access> accesses) {
    Einsum e;
    e.name = name;
    e.variables = std::move(variables);
    e.accesses = std::move(accesses);
    e.keep = {{Keep::kMay, Keep::kMay, Keep::kMay}, {Keep::kMust, Keep::kMust, Keep::kMust}};
    p.einsums.push_back(std::move(e));
  };
  einsum("first", {0, 1, 2}, {{0, {0, 1}}, {1, {1, 2}}, {2, {0, 2}}});
  einsum("second", {0, 2, 3}, {{2, {0, 2}}, {3, {2, 3}}, {4, {0, 3}}});
  return p;
}

TEST(FusedLaws, TwoProductsCostWhatAccelForgeSays) {
  SearchOptions options;
  const Result two = optimize(two_products(16384), options);
  ASSERT_TRUE(two.best);
  EXPECT_EQ(two.best->energy, 18'055'168);
  EXPECT_EQ(two.best->latency, 4'608);
  const Result one = optimize(two_products(8192), options);
  ASSERT_TRUE(one.best);
  EXPECT_EQ(one.best->energy, 22'315'008);
  EXPECT_EQ(one.best->latency, 6'656);
}

TEST(FusedLaws, WhatFitsNowhereIsNamed) {
  Problem problem = two_products(8192);
  problem.fuse.push_back({2, 1, false, {}, {64, 32}});
  const Result none = optimize(problem, {});
  EXPECT_FALSE(none.best);
  EXPECT_EQ(none.infeasible,
            "T1 has to be handed on in level, in tiles of 2048 words or more: 16384 bits, where it has 8192");
}

}  // namespace
}  // namespace orrery::fused
