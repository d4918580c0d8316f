// What must hold of Model::evaluate on any nest and chip, and a slow walk that counts the same traffic.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/engines/nest/model/simulation_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

constexpr std::uint32_t bit(int s) {
  return 1u << s;
}

struct ModelLawsCase {
  workload::Einsum einsum;
  machine::Chip chip;
  Mapping mapping;
  ModelOptions options;

  explicit ModelLawsCase(Dice& dice) {
    einsum = dice.once_in(4) ? testing::random_convolution(dice) : testing::random_einsum(dice);
    chip = testing::random_chip(dice);
    mapping = testing::random_legal_mapping(dice, einsum, chip);
    if (dice.once_in(2)) options = ModelOptions::timeloop();
  }
  Evaluation run() const { return evaluate(einsum, chip, mapping, options); }
};

// 100 seeds of 20 cases each.
template <typename Law>
void check_law(const char* name, Law law) {
  EXPECT_TRUE(rc::check(name, [&] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    for (int repeat = 0; repeat < 20; ++repeat) {
      ModelLawsCase one(dice);
      law(one, dice);
    }
  }));
}

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

TEST(ModelLaw, WidthsOfOneWordChangeNothing) {
  check_law("equal widths", [](ModelLawsCase one, Dice&) {
    const Evaluation before = one.run();
    for (workload::Dataspace& dataspace : one.einsum.dataspaces) dataspace.bits = one.chip.storages[0].word_bits;
    const Evaluation after = one.run();
    RC_ASSERT(after.energy_pj == before.energy_pj);
    RC_ASSERT(after.needed_cycles() == before.needed_cycles());
    for (std::size_t i = 0; i < before.storages.size(); ++i)
      RC_ASSERT(after.storages[i].energy_pj == before.storages[i].energy_pj);
  });
}

TEST(ModelLaw, NarrowerValuesNeverCostMore) {
  check_law("half the width", [](ModelLawsCase one, Dice& dice) {
    for (workload::Dataspace& dataspace : one.einsum.dataspaces) dataspace.bits = dice.pick({0, 2, 6, 8, 16, 24, 32});
    workload::Dataspace& halved =
        one.einsum.dataspaces[static_cast<std::size_t>(dice(0, static_cast<Count>(one.einsum.dataspaces.size()) - 1))];
    halved.bits = dice.pick({2, 6, 8, 16, 32});
    const Evaluation before = one.run();
    halved.bits /= 2;
    const Evaluation after = one.run();
    RC_ASSERT(after.energy_pj <= before.energy_pj * (1 + 1e-9));
    // Cycles by factors in doubles may round up by one.
    RC_ASSERT(after.needed_cycles() <= before.needed_cycles() + (one.options.throttle_in_doubles ? 1 : 0));
    for (std::size_t i = 0; i < before.storages.size(); ++i)
      for (std::size_t s = 0; s < one.einsum.dataspaces.size(); ++s) {
        const DataspaceCost &wide = before.storages[i].dataspaces[s], &narrow = after.storages[i].dataspaces[s];
        RC_ASSERT(narrow.reads == wide.reads && narrow.fills == wide.fills && narrow.updates == wide.updates);
      }
  });
}

TEST(ModelLaw, CountsAreThoseOfAWalkOverEveryIteration) {
  Count checked = 0;
  EXPECT_TRUE(rc::check("model == simulation", [&] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    workload::Einsum einsum = testing::random_einsum(dice, 6);
    while (einsum.operations() > 300) einsum = testing::random_einsum(dice, 6);
    const machine::Chip chip = testing::random_chip(dice);
    const Mapping mapping = testing::random_legal_mapping(dice, einsum, chip);
    const Evaluation result = evaluate(einsum, chip, mapping);
    const testing::Simulation simulation(einsum, mapping);
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      const int outermost = static_cast<int>(chip.storages.size()) - 1;
      int below = -1;
      for (int i = 0; i <= outermost; ++i) {
        const DataspaceCost& cost = result.storages[i].dataspaces[s];
        if (!cost.kept) {
          RC_ASSERT(cost.reads + cost.fills + cost.updates == 0);
          continue;
        }
        const Count moved = simulation.between(i, below, static_cast<int>(s)).accesses;
        const Count seen = simulation.seen(i, static_cast<int>(s));
        int above = i + 1;
        while (above <= outermost && !(mapping.levels[above].keep >> s & 1)) ++above;
        const Count received = above > outermost ? 0
                                                 : simulation.between(above, i, static_cast<int>(s)).deliveries /
                                                       simulation.instances_between(above, i);
        if (einsum.dataspaces[s].read_write) {
          RC_ASSERT(cost.updates == moved);
          RC_ASSERT(cost.reads == moved - seen);
          RC_ASSERT(cost.fills == (above > outermost ? 0 : received - seen));
        } else {
          RC_ASSERT(cost.reads == moved);
          RC_ASSERT(cost.fills == received);
          RC_ASSERT(cost.updates == 0);
        }
        RC_ASSERT(cost.partition_words == seen);
        below = i;
        ++checked;
      }
    }
  }));
  EXPECT_GT(checked, 200);
}

TEST(ModelLaw, EnergiesOfLevelsSumToTheTotal) {
  check_law("sum", [](const ModelLawsCase& one, Dice&) {
    const Evaluation result = one.run();
    double sum = result.compute.energy_pj;
    for (const StorageCost& storage : result.storages) {
      double level = storage.leakage_pj;
      for (const DataspaceCost& dataspace : storage.dataspaces) level += dataspace.energy_pj;
      RC_ASSERT(close(level, storage.energy_pj));
      sum += storage.energy_pj;
    }
    for (const NetworkCost& network : result.networks) {
      RC_ASSERT(close(network.energy_pj,
                      std::accumulate(network.dataspace_energy_pj.begin(), network.dataspace_energy_pj.end(), 0.0)));
      sum += network.energy_pj;
    }
    RC_ASSERT(close(sum, result.energy_pj));
    RC_ASSERT(close(result.edp_j_cycles, sum * static_cast<double>(result.cycles) / 1e12));
    RC_ASSERT(result.compute.operations == one.einsum.operations());
    RC_ASSERT(result.utilization > 0 && result.utilization <= 1);
  });
}

TEST(ModelLaw, CountsAreNeverNegative) {
  check_law("signs", [](const ModelLawsCase& one, Dice&) {
    for (const StorageCost& storage : one.run().storages) {
      RC_ASSERT(storage.throttle > 0 && storage.throttle <= 1);
      for (const DataspaceCost& cost : storage.dataspaces)
        RC_ASSERT(cost.reads >= 0 && cost.fills >= 0 && cost.updates >= 0 && cost.energy_pj >= 0);
    }
  });
}

TEST(ModelLaw, DoublingABandwidthNeverSlowsNorChangesAnAccess) {
  check_law("bandwidth", [](const ModelLawsCase& one, Dice& dice) {
    ModelLawsCase fast = one;
    machine::Storage& storage = fast.chip.storages[dice(0, static_cast<Count>(one.chip.storages.size()) - 1)];
    for (auto* words : {&storage.read_words_per_cycle, &storage.write_words_per_cycle, &storage.shared_words_per_cycle})
      if (*words) **words *= 2;
    const Evaluation before = one.run(), after = fast.run();
    RC_ASSERT(after.cycles <= before.cycles);
    RC_ASSERT(after.energy_pj <= before.energy_pj * (1 + 1e-12));  // only leakage can shrink
    for (std::size_t i = 0; i < before.storages.size(); ++i)
      for (std::size_t s = 0; s < one.einsum.dataspaces.size(); ++s)
        RC_ASSERT(after.storages[i].dataspaces[s].reads == before.storages[i].dataspaces[s].reads);
  });
}

TEST(ModelLaw, TheReferencesRoundingAddsAtMostOneCycle) {
  check_law("rounding", [](ModelLawsCase one, Dice&) {
    one.options.throttle_in_doubles = false;
    const Count exact = one.run().active_cycles;
    one.options.throttle_in_doubles = true;
    const Count rounded = one.run().active_cycles;
    RC_ASSERT(std::abs(rounded - exact) <= 1);
  });
}

TEST(ModelLaw, AnEnergyScalesItsOwnTermOnly) {
  check_law("scaling", [](const ModelLawsCase& one, Dice& dice) {
    const auto chosen = static_cast<std::size_t>(dice(0, static_cast<Count>(one.chip.storages.size()) - 1));
    ModelLawsCase dear = one;
    machine::ActionEnergies& energy = dear.chip.storages[chosen].energy;
    energy = {3 * energy.read_pj, 3 * energy.write_pj, 3 * energy.update_pj, 3 * energy.leak_pj_per_cycle};
    const Evaluation before = one.run(), after = dear.run();
    for (std::size_t i = 0; i < before.storages.size(); ++i)
      RC_ASSERT(close(after.storages[i].energy_pj, (i == chosen ? 3 : 1) * before.storages[i].energy_pj));
    RC_ASSERT(after.compute.energy_pj == before.compute.energy_pj);
    RC_ASSERT(after.cycles == before.cycles);
    RC_ASSERT(close(after.energy_pj - before.energy_pj, 2 * before.storages[chosen].energy_pj));
  });
}

void expect_same(const Evaluation& a, const Evaluation& b) {
  RC_ASSERT(close(a.energy_pj, b.energy_pj));
  RC_ASSERT(a.cycles == b.cycles);
  RC_ASSERT(a.storages.size() == b.storages.size());
  for (std::size_t i = 0; i < a.storages.size(); ++i)
    RC_ASSERT(close(a.storages[i].energy_pj, b.storages[i].energy_pj));
}

TEST(ModelLaw, TheOrderInWhichDimensionsAreDeclaredMeansNothing) {
  check_law("relabelling", [](const ModelLawsCase& one, Dice& dice) {
    const int n = static_cast<int>(one.einsum.dimensions.size());
    const std::vector<int> to = dice.order(n);
    ModelLawsCase other = one;
    for (int d = 0; d < n; ++d) other.einsum.dimensions[to[d]] = one.einsum.dimensions[d];
    for (workload::Dataspace& dataspace : other.einsum.dataspaces)
      for (workload::Rank& rank : dataspace.ranks)
        for (workload::Term& term : rank.terms) term.dimension = to[term.dimension];
    for (std::size_t i = 0; i < one.mapping.levels.size(); ++i) {
      LevelMapping& level = other.mapping.levels[i];
      for (int d = 0; d < n; ++d) {
        level.temporal[to[d]] = one.mapping.levels[i].temporal[d];
        level.spatial[to[d]] = one.mapping.levels[i].spatial[d];
      }
      for (int& d : level.temporal_order) d = to[d];
      for (int& d : level.spatial_order) d = to[d];
    }
    expect_same(one.run(), other.run());
  });
}

TEST(ModelLaw, ADimensionThatDoesNotIterateMeansNothing) {
  check_law("unit dimension", [](const ModelLawsCase& one, Dice& dice) {
    ModelLawsCase other = one;
    const int d = static_cast<int>(one.einsum.dimensions.size());
    other.einsum.dimensions.push_back({"unit", 1});
    workload::Dataspace& dataspace =
        other.einsum.dataspaces[dice(0, static_cast<Count>(one.einsum.dataspaces.size()) - 1)];
    if (dice.once_in(2))
      dataspace.ranks.push_back({{{d, 1}}});
    else
      dataspace.ranks[0].terms.push_back({d, 2});
    for (LevelMapping& level : other.mapping.levels) {
      level.temporal.push_back(1);
      level.spatial.push_back(1);
      level.temporal_order.insert(level.temporal_order.begin() + dice(0, d), d);
      level.spatial_order.push_back(d);
    }
    expect_same(one.run(), other.run());
  });
}

TEST(ModelLaw, WhereALoopThatDoesNotIterateStandsMeansNothing) {
  check_law("unit loops", [](const ModelLawsCase& one, Dice& dice) {
    ModelLawsCase other = one;
    for (LevelMapping& level : other.mapping.levels) {
      std::vector<int> units, loops;
      for (const int d : level.temporal_order) (level.temporal[d] == 1 ? units : loops).push_back(d);
      for (const int d : units) loops.insert(loops.begin() + dice(0, static_cast<Count>(loops.size())), d);
      level.temporal_order = loops;
    }
    expect_same(one.run(), other.run());
  });
}

TEST(ModelLaw, AnEvaluationLeavesNothingBehindForTheNext) {
  check_law("reuse of storage", [](const ModelLawsCase& one, Dice& dice) {
    const Model model(one.einsum, one.chip, one.options);
    Evaluation used;
    model.evaluate(testing::random_legal_mapping(dice, one.einsum, one.chip), used);
    model.evaluate(one.mapping, used);
    const Evaluation fresh = one.run();
    expect_same(used, fresh);
    RC_ASSERT(used.energy_pj == fresh.energy_pj);
    RC_ASSERT(used.edp_j_cycles == fresh.edp_j_cycles);
    for (std::size_t n = 0; n < fresh.networks.size(); ++n)
      RC_ASSERT(used.networks[n].transfers == fresh.networks[n].transfers);
  });
}

TEST(ModelLaw, ATileHeldLowerNeverAddsReadsAbove) {
  check_law("keeping", [](const ModelLawsCase& one, Dice& dice) {
    const int outermost = static_cast<int>(one.chip.storages.size()) - 1;
    const auto s = static_cast<int>(dice(0, static_cast<Count>(one.einsum.dataspaces.size()) - 1));
    // A strided tile is held as the box that spans it, gaps included: holding it can bring more words.
    if (!shape_of(one.einsum).product_form[s]) return;
    ModelLawsCase without = one, with = one;
    without.mapping.levels[0].keep &= ~bit(s);
    with.mapping.levels[0].keep |= bit(s);
    int above = 1;
    while (above < outermost && !(one.mapping.levels[above].keep >> s & 1)) ++above;
    const DataspaceCost a = with.run().storages[above].dataspaces[s];
    const DataspaceCost b = without.run().storages[above].dataspaces[s];
    RC_ASSERT(a.reads <= b.reads);
    RC_ASSERT(a.updates <= b.updates);
  });
}

}  // namespace
}  // namespace orrery::nest
