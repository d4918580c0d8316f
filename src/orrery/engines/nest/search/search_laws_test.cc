// Laws that no optimum may break, on random instances with free bypass and free X/Y splits.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "orrery/engines/nest/search/random_space_test_util.h"
#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/search/seed_chips_test_util.h"
#include "orrery/engines/nest/space/feasibility.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;
using testing::random_instance;

constexpr double kRounding = 1e-11;

Optimum solve(const Instance& instance, const std::vector<Metric>& objective = {Metric::kEdp},
              const SearchRules& limits = {}) {
  return optimize(Model(instance.einsum, instance.chip, instance.options, instance.space.reuse), instance.space,
                  objective, limits);
}

// Calls `law(dice, instance, optimum)` on instances that have a mapping.
template <typename Law>
void for_feasible(int cases, std::uint64_t salt, const Law& law) {
  int seen = 0;
  for (std::uint64_t seed = 0; seen < cases; ++seed) {
    Dice dice = Dice::from_seed(seed * 7919 + salt);
    const Instance instance = random_instance(dice);
    const Optimum optimum = solve(instance);
    if (!optimum.mapping) continue;
    ++seen;
    law(dice, instance, optimum);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

void expect_no_worse(const Optimum& found, const Optimum& than) {
  ASSERT_TRUE(found.mapping.has_value());
  EXPECT_LE(found.evaluation.edp_j_cycles, than.evaluation.edp_j_cycles * (1 + kRounding));
}

void expect_as_good(const Optimum& found, const Optimum& as) {
  expect_no_worse(found, as);
  expect_no_worse(as, found);
}

TEST(SearchLaws, MoreCapacityNeverHurts) {
  for_feasible(80, 1, [](Dice& dice, const Instance& instance, const Optimum& before) {
    Instance larger = instance;
    machine::Storage& storage = larger.chip.storages[dice(0, static_cast<Count>(larger.chip.storages.size()) - 1)];
    if (storage.capacity_words) *storage.capacity_words *= 4;
    storage.min_utilization = 0;
    expect_no_worse(solve(larger), before);
  });
}

TEST(SearchLaws, MoreBandwidthNeverHurts) {
  for_feasible(80, 2, [](Dice& dice, const Instance& instance, const Optimum& before) {
    Instance wider = instance;
    machine::Storage& storage = wider.chip.storages[dice(0, static_cast<Count>(wider.chip.storages.size()) - 1)];
    for (auto* limit : {&storage.read_words_per_cycle, &storage.write_words_per_cycle, &storage.shared_words_per_cycle})
      if (*limit) *limit = **limit * 2;
    const Optimum after = solve(wider);
    ASSERT_TRUE(after.mapping.has_value());
    // Rounding of ceil(cc / slow) in doubles may add a cycle under --compat timeloop.
    EXPECT_LE(after.evaluation.edp_j_cycles,
              before.evaluation.edp_j_cycles *
                  (1 + (instance.options.throttle_in_doubles ? 2.0 / static_cast<double>(before.evaluation.cycles)
                                                             : kRounding)));
  });
}

TEST(SearchLaws, DroppingAConstraintNeverHurts) {
  for_feasible(80, 3, [](Dice& dice, const Instance& instance, const Optimum& before) {
    if (instance.space.constraints.empty()) return;
    Instance freer = instance;
    freer.space.constraints.erase(freer.space.constraints.begin() +
                                  dice(0, static_cast<Count>(freer.space.constraints.size()) - 1));
    expect_no_worse(solve(freer), before);
  });
}

TEST(SearchLaws, TheOrderInWhichConstraintsAreWrittenChangesNothing) {
  for_feasible(80, 4, [](Dice&, const Instance& instance, const Optimum& before) {
    Instance reversed = instance;
    std::reverse(reversed.space.constraints.begin(), reversed.space.constraints.end());
    const Optimum after = solve(reversed);
    EXPECT_EQ(after.mapping, before.mapping);
    EXPECT_EQ(after.evaluation.edp_j_cycles, before.evaluation.edp_j_cycles);
  });
}

TEST(SearchLaws, ReorderingAndRenamingDimensionsChangesNoCost) {
  for_feasible(80, 5, [](Dice& dice, const Instance& instance, const Optimum& before) {
    Instance relabelled = instance;
    const int dimensions = static_cast<int>(instance.einsum.dimensions.size());
    const std::vector<int> to = dice.order(dimensions);
    for (int d = 0; d < dimensions; ++d)
      relabelled.einsum.dimensions[to[d]] = {"renamed" + std::to_string(d), instance.einsum.dimensions[d].bound};
    for (workload::Dataspace& dataspace : relabelled.einsum.dataspaces)
      for (workload::Rank& rank : dataspace.ranks)
        for (workload::Term& term : rank.terms) term.dimension = to[term.dimension];
    for (Constraint& constraint : relabelled.space.constraints) {
      constraint.dimension = to[constraint.dimension];
      for (int& d : constraint.inner) d = to[d];
      for (int& d : constraint.outer) d = to[d];
    }
    expect_as_good(solve(relabelled), before);
  });
}

TEST(SearchLaws, DoublingEveryEnergyDoublesTheLeastEnergy) {
  for_feasible(80, 6, [](Dice&, const Instance& instance, const Optimum&) {
    Instance doubled = instance;
    for (machine::Storage& storage : doubled.chip.storages) {
      machine::ActionEnergies& energy = storage.energy;
      energy = {2 * energy.read_pj, 2 * energy.write_pj, 2 * energy.update_pj, 2 * energy.leak_pj_per_cycle};
    }
    doubled.chip.compute.compute_pj *= 2;
    doubled.chip.compute.leak_pj_per_cycle *= 2;
    for (machine::Network& network : doubled.chip.networks)
      for (auto& [action, table] : network.energy_pj)
        for (auto& [destinations, energy_pj] : table) energy_pj *= 2;
    const double once = solve(instance, {Metric::kEnergy}).evaluation.energy_pj;
    const double twice = solve(doubled, {Metric::kEnergy}).evaluation.energy_pj;
    EXPECT_NEAR(twice, 2 * once, 2 * once * kRounding);
  });
}

TEST(SearchLaws, ThreadsChangeNothingButTheTime) {
  for_feasible(60, 7, [](Dice&, const Instance& instance, const Optimum& before) {
    SearchRules limits;
    limits.threads = 3;
    const Optimum after = solve(instance, {Metric::kEdp}, limits);
    EXPECT_EQ(after.mapping, before.mapping);
    EXPECT_EQ(after.evaluation.energy_pj, before.evaluation.energy_pj);
  });
}

TEST(SearchLaws, RemovingAnyPruningRuleChangesNoAnswer) {
  for_feasible(60, 8, [](Dice&, const Instance& instance, const Optimum& before) {
    SearchRules unbounded, undominated, undominated_labels, no_lattice, apart, no_ceilings, unnested, few_labels;
    unbounded.prune_by_bound = false;
    undominated.dominance = undominated.lattice = false;
    undominated_labels.dominance = false;
    no_lattice.lattice = false;
    apart.together = false;
    no_ceilings.ceilings = false;
    unnested.nested_tiles = false;
    few_labels.most_labels = 0;
    for (const SearchRules& limits :
         {unbounded, undominated, undominated_labels, no_lattice, apart, no_ceilings, unnested, few_labels})
      expect_as_good(solve(instance, {Metric::kEdp}, limits), before);
  });
}

// Lifts everything but `kept` conflicts, then one more; a mapping must exist without that one and not with it.
TEST(SearchLaws, EachRestrictionNamedForAnEmptySpaceIsNeededAndTogetherTheySuffice) {
  int seen = 0;
  for (std::uint64_t seed = 0; seen < 60; ++seed) {
    Dice dice = Dice::from_seed(seed * 104729 + 9);
    const Instance instance = random_instance(dice);
    const Optimum optimum = solve(instance);
    if (!optimum.infeasible) continue;
    ++seen;
    ASSERT_FALSE(optimum.conflicts.empty()) << "seed " << seed;
    const std::size_t levels = instance.chip.storages.size();
    const Shape shape = shape_of(instance.einsum);
    const auto feasible_without = [&](int left_out) {
      Mapspace space;
      HardwareLimits limits{std::vector<bool>(levels, false), std::vector<bool>(levels, false)};
      for (std::size_t i = 0; i < levels; ++i)
        limits.fanout[i] =
            instance.chip.fanout_x(static_cast<int>(i)) * instance.chip.fanout_y(static_cast<int>(i)) == 1;
      for (int k = 0; k < static_cast<int>(optimum.conflicts.size()); ++k) {
        const Conflict& conflict = optimum.conflicts[k];
        if (k == left_out) continue;
        if (conflict.constraint >= 0) space.constraints.push_back(instance.space.constraints[conflict.constraint]);
        if (conflict.capacity_level >= 0) limits.capacity[conflict.capacity_level] = true;
        if (conflict.fanout_level >= 0) limits.fanout[conflict.fanout_level] = true;
      }
      return feasible(instance.einsum, Space(instance.einsum, instance.chip, space, shape, limits)) == Feasible::kYes;
    };
    EXPECT_FALSE(feasible_without(-1)) << "seed " << seed;
    for (int k = 0; k < static_cast<int>(optimum.conflicts.size()); ++k)
      EXPECT_TRUE(feasible_without(k)) << "seed " << seed << ": " << optimum.conflicts[k].text;
  }
}

TEST(Search, ATimeLimitKeepsTheBestSoFarAndAValidBound) {
  const testing::SeedCase seed = testing::pim();
  const Model model(workload::matmul("KQV", 2304 * 5, 768 * 5, 512 * 3), seed.chip);
  const Optimum proven = optimize(model, seed.space);
  ASSERT_TRUE(proven.certificate.optimal);
  SearchRules limits;
  limits.prune_by_bound = false;
  limits.seconds = 0.01;
  const Optimum cut = optimize(model, seed.space, {Metric::kEdp}, limits);
  EXPECT_FALSE(cut.certificate.optimal);
  EXPECT_LE(cut.certificate.lower_bound, proven.evaluation.edp_j_cycles * (1 + kRounding));
  if (cut.mapping) {
    EXPECT_GE(cut.evaluation.edp_j_cycles, proven.evaluation.edp_j_cycles * (1 - kRounding));
  }
}

TEST(Search, AnInterruptEndsTheSearch) {
  const testing::SeedCase seed = testing::pim();
  const Model model(workload::matmul("KQV", 2304, 768, 512), seed.chip);
  const std::atomic<bool> stop{true};
  SearchRules limits;
  limits.prune_by_bound = false;
  limits.stop = &stop;
  const Optimum cut = optimize(model, seed.space, {Metric::kEdp}, limits);
  EXPECT_TRUE(cut.interrupted);
  EXPECT_FALSE(cut.certificate.optimal);
}

// Optima of Timeloop's map spaces (energies printed to 0.01 uJ, cycles exact).
TEST(Search, ReachesTimeloopsOptimaOnTheSeedChips) {
  struct Case {
    bool pim;
    Count e, d, l;
    double energy_uj;
    Count cycles;
  };
  for (const Case& expected :
       {Case{false, 64, 4096, 4096, 2116.62, 4210692}, Case{false, 768, 2304, 512, 1135.81, 3649540},
        Case{false, 1024, 4096, 4096, 23192.13, 69206020}, Case{true, 64, 4096, 4096, 3329.71, 131072},
        Case{true, 512, 64, 512, 67.88, 2048}, Case{true, 4096, 1024, 4096, 52323.31, 1048576}}) {
    const testing::SeedCase seed = expected.pim ? testing::pim() : testing::gemmini();
    const Model model(workload::matmul("layer", expected.d, expected.e, expected.l), seed.chip,
                      ModelOptions::timeloop());
    const Optimum found = optimize(model, seed.space, {Metric::kEdp, Metric::kDelay, Metric::kEnergy});
    ASSERT_TRUE(found.certificate.optimal);
    EXPECT_EQ(found.evaluation.cycles, expected.cycles);
    EXPECT_NEAR(found.evaluation.energy_pj / 1e6, expected.energy_uj, 0.005 + 1e-9);
  }
}

}  // namespace
}  // namespace orrery::nest
