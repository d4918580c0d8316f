#include "orrery/nest/imperfect.h"

#include <cmath>

#include <gtest/gtest.h>

#include "orrery/nest/imperfect_simulation_test_util.h"
#include "orrery/nest/model.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::ImperfectSimulation;


workload::Einsum any_bounds(Dice& dice) {
  workload::Einsum einsum = testing::random_einsum(dice);
  for (workload::Dimension& dimension : einsum.dimensions) dimension.bound = dice(1, 7);
  return einsum;
}

// Exceptions to reuse, rarely.
std::vector<ReuseRules> any_rules(Dice& dice, int storages) {
  if (!dice.once_in(3)) return {};
  std::vector<ReuseRules> rules(storages);
  for (ReuseRules& rule : rules)
    for (std::uint32_t* mask : {&rule.no_temporal_reuse, &rule.no_spatial_sharing, &rule.read_first_update,
                                &rule.no_coalescing})
      if (dice.once_in(3)) *mask = static_cast<std::uint32_t>(dice(0, 7));
  return rules;
}

struct Port {
  double reads = 0, writes = 0;
};

TEST(Imperfect, EqualsAWalkOverEveryStepOfEveryInstance) {
  int imperfect_ones = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = any_bounds(dice);
    const int storages = static_cast<int>(dice(1, 3));
    const Mapping mapping = testing::random_imperfect_mapping(dice, einsum, storages, dice.once_in(2));
    if (perfect(mapping)) continue;
    ++imperfect_ones;
    const std::vector<ReuseRules> rules = any_rules(dice, storages);
    machine::Chip chip;
    chip.storages.resize(storages);
    for (machine::Storage& storage : chip.storages) {
      storage.energy.read_pj = dice.hundredths(1, 900);
      storage.energy.write_pj = dice.hundredths(1, 900);
      storage.energy.update_pj = dice.hundredths(1, 900);
      if (dice.once_in(2)) storage.read_words_per_cycle = dice.hundredths(20, 300);
      if (dice.once_in(2)) storage.write_words_per_cycle = dice.hundredths(20, 300);
      if (dice.once_in(2)) storage.shared_words_per_cycle = dice.hundredths(20, 300);
    }
    chip.compute.compute_pj = 1;
    chip.compute.instances = 1000000;
    const Evaluation evaluation = evaluate(einsum, chip, mapping, {}, rules);

    const ImperfectSimulation walk(einsum, mapping);
    double energy_pj = static_cast<double>(einsum.operations());
    Count cycles = walk.steps();
    EXPECT_EQ(evaluation.compute.cycles, cycles) << "seed " << seed;
    EXPECT_EQ(evaluation.compute.operations, einsum.operations());
    EXPECT_EQ(evaluation.compute.utilized_instances, static_cast<Count>(walk.instances(-1).size()));
    for (int i = 0; i < storages; ++i) {
      std::map<ImperfectSimulation::Instance, Port> ports;
      const auto instances = walk.instances(i);
      const double count = static_cast<double>(instances.size());
      EXPECT_EQ(evaluation.storages[i].utilized_instances, static_cast<Count>(instances.size()));
      for (int s = 0; s < static_cast<int>(einsum.dataspaces.size()); ++s) {
        const auto keeps = [&](int level) { return mapping.levels[level].keep >> s & 1; };
        if (!keeps(i)) continue;
        const auto rule = [&](int level, std::uint32_t ReuseRules::*which) {
          return !rules.empty() && level >= 0 && (rules[level].*which >> s & 1);
        };
        std::uint32_t alone = 0;
        for (int j = 0; j < storages; ++j) alone |= rule(j, &ReuseRules::no_spatial_sharing) ? 1u << j : 0u;
        int inner = i - 1;
        while (inner >= 0 && !keeps(inner)) --inner;
        bool outermost = true;
        for (int j = i + 1; j < storages; ++j) outermost = outermost && !keeps(j);
        const bool read_write = einsum.dataspaces[s].read_write;
        const bool passes_on = rule(i, &ReuseRules::no_coalescing);
        const bool reads_first = passes_on || rule(i, &ReuseRules::read_first_update);
        auto content = walk.brought(s, inner, i, inner < 0 || rule(inner, &ReuseRules::no_temporal_reuse), alone);
        auto share = walk.brought(s, i, i, rule(i, &ReuseRules::no_temporal_reuse), alone);
        if (outermost) share.clear();
        auto seen = walk.seen(s, i);
        double reads = 0, fills = 0, updates = 0;
        for (const auto& instance : instances) {
          double here = static_cast<double>(content[instance]), filled = static_cast<double>(share[instance]);
          const double first = static_cast<double>(seen[instance]), updated = read_write ? here : 0;
          if (read_write) {
            filled = passes_on ? here : outermost ? 0 : filled - first;
            if (!reads_first) here -= first;
          }
          reads += here, fills += filled, updates += updated;
          ports[instance].reads += here;
          ports[instance].writes += filled + updated;
        }
        const DataspaceCost& use = evaluation.storages[i].dataspaces[s];
        const auto where = [&] { return ::testing::Message() << "seed " << seed << " level " << i << " dataspace " << s; };
        ASSERT_EQ(use.reads, std::llround(reads / count)) << where();
        ASSERT_EQ(use.fills, std::llround(fills / count)) << where();
        ASSERT_EQ(use.updates, std::llround(updates / count)) << where();
        const double expected = reads * chip.storages[i].energy.read_pj + fills * chip.storages[i].energy.write_pj +
                                updates * chip.storages[i].energy.update_pj;
        ASSERT_NEAR(use.energy_pj, expected, 1e-9 * (1 + expected)) << where();
        energy_pj += expected;
      }
      for (const auto& [instance, port] : ports) {
        const auto wait = [&](const std::optional<double>& limit, double words) {
          if (limit) cycles = std::max(cycles, static_cast<Count>(std::ceil(words / *limit)));
        };
        wait(chip.storages[i].read_words_per_cycle, port.reads);
        wait(chip.storages[i].write_words_per_cycle, port.writes);
        wait(chip.storages[i].shared_words_per_cycle, port.reads + port.writes);
      }
    }
    ASSERT_NEAR(evaluation.energy_pj, energy_pj, 1e-9 * energy_pj) << "seed " << seed;
    ASSERT_EQ(evaluation.cycles, cycles) << "seed " << seed;
  }
  EXPECT_GT(imperfect_ones, 1800);
}

}  // namespace
}  // namespace orrery::nest
