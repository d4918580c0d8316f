#include "orrery/engines/nest/model/imperfect_traffic.h"

#include <cmath>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orrery/engines/nest/model/imperfect_simulation_test_util.h"
#include "orrery/engines/nest/model/model.h"

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
    for (std::uint32_t* mask : {&rule.no_temporal_reuse, &rule.no_spatial_sharing, &rule.read_first_update})
      if (dice.once_in(3)) *mask = static_cast<std::uint32_t>(dice(0, 7));
  return rules;
}

struct Port {
  double reads = 0, writes = 0;
};

// Rows on instances of one buffer each, below a memory; a dataspace of rows, one shared by all.
struct Rows {
  workload::Einsum einsum;
  machine::Chip chip;
  Mapping mapping;

  Rows(Count rows, Count in_space, Count in_time) {
    einsum.name = "rows";
    einsum.dimensions = {{"P", rows}};
    einsum.dataspaces = {{"Row", {{{{0, 1}}}}, false}, {"Same", {}, false}};
    chip.storages.resize(2);
    LevelMapping level;
    level.temporal = level.spatial = {1};
    level.temporal_order = level.spatial_order = {0};
    level.keep = 0b11;
    mapping.levels = {level, level};
    mapping.levels[1].spatial = {in_space};
    mapping.levels[1].temporal = {in_time};
  }
};

TEST(Imperfect, TenRowsOnFourInstances) {
  Rows rows(10, 4, 3);
  ASSERT_TRUE(complete(rows.mapping, {10}));
  EXPECT_EQ(rows.mapping.levels[1].factor(true, 0), (Factor{4, 2}));
  rows.chip.storages[0].write_words_per_cycle = 0.5;
  rows.chip.storages[0].energy.write_pj = 1;
  rows.chip.storages[1].energy.read_pj = 1;
  const Evaluation evaluation = evaluate(rows.einsum, rows.chip, rows.mapping);
  EXPECT_EQ(evaluation.compute.cycles, 3);
  EXPECT_EQ(evaluation.compute.operations, 10);
  EXPECT_EQ(evaluation.storages[0].utilized_instances, 4);
  EXPECT_EQ(evaluation.storages[1].dataspaces[0].reads, 10);
  // The shared word comes once to all four, and is read once.
  EXPECT_EQ(evaluation.storages[1].dataspaces[1].reads, 1);
  EXPECT_DOUBLE_EQ(evaluation.storages[0].dataspaces[0].energy_pj, 10);
  EXPECT_DOUBLE_EQ(evaluation.storages[0].dataspaces[1].energy_pj, 4);
  // The first instance is filled with three rows and the shared word, half a word a cycle.
  EXPECT_EQ(evaluation.cycles, 8);
}

TEST(Imperfect, WholeRoundsCountTheLongest) {
  Rows rows(10, 1, 3);
  rows.mapping.levels[0].temporal = {4};
  ASSERT_TRUE(complete(rows.mapping, {10}));
  EXPECT_EQ(evaluate(rows.einsum, rows.chip, rows.mapping).cycles, 10);
  EXPECT_EQ(evaluate(rows.einsum, rows.chip, rows.mapping, ModelOptions::timeloop()).cycles, 12);
}

TEST(Imperfect, LastRoundsAreTheDigitsOfTheBound) {
  Rows rows(197, 16, 13);
  EXPECT_TRUE(complete(rows.mapping, {197}));
  EXPECT_EQ(rows.mapping.levels[1].factor(true, 0), (Factor{16, 5}));
  EXPECT_TRUE(rows.mapping.levels[1].factor(false, 0).perfect());
  EXPECT_EQ(span_of(factors_of(rows.mapping, 0)), 197);
  EXPECT_TRUE(complete(rows.mapping, {208}));
  EXPECT_TRUE(perfect(rows.mapping));
  EXPECT_FALSE(complete(rows.mapping, {209})) << "beyond 16 * 13";
  EXPECT_FALSE(complete(rows.mapping, {192})) << "the thirteenth iteration is never run";
}

std::vector<std::string> codes(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping) {
  base::Diagnostics found;
  check_legal(einsum, chip, mapping, {}, found);
  std::vector<std::string> listed;
  for (const base::Diagnostic& diagnostic : found.all()) listed.push_back(diagnostic.code);
  return listed;
}

TEST(Imperfect, IterationsThatNeverRunAreRefused) {
  Rows rows(192, 1, 13);
  rows.mapping.levels[0].temporal = {16};
  EXPECT_FALSE(complete(rows.mapping, {192}));
  EXPECT_EQ(codes(rows.einsum, rows.chip, rows.mapping), std::vector<std::string>{"O1948"});
  EXPECT_FALSE(is_legal(rows.einsum, rows.chip, rows.mapping));
  rows.mapping.levels[1].temporal = rows.mapping.levels[1].temporal_last = {12};
  EXPECT_EQ(codes(rows.einsum, rows.chip, rows.mapping), std::vector<std::string>{});
  EXPECT_TRUE(is_legal(rows.einsum, rows.chip, rows.mapping));
}

TEST(Imperfect, RoundsThatDoNotComeToTheBoundAreRefused) {
  Rows rows(197, 1, 13);
  rows.mapping.levels[0].temporal = {16};
  ASSERT_TRUE(complete(rows.mapping, {196}));
  EXPECT_EQ(codes(rows.einsum, rows.chip, rows.mapping), std::vector<std::string>{"O0710"});
  ASSERT_TRUE(complete(rows.mapping, {197}));
  EXPECT_EQ(codes(rows.einsum, rows.chip, rows.mapping), std::vector<std::string>{});
  rows.mapping.levels[0].temporal_last = {17};
  EXPECT_EQ(codes(rows.einsum, rows.chip, rows.mapping), std::vector<std::string>{"O0710"}) << "more than the factor";
}

// Evaluated by either account, a mapping without remainders costs the same.
TEST(Imperfect, WithoutRestsItIsTheClosedForm) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_einsum(dice);
    const machine::Chip chip = testing::random_chip(dice);
    const int storages = static_cast<int>(chip.storages.size());
    Mapping mapping = testing::random_mapping(dice, einsum, storages, dice.once_in(2));
    const std::vector<ReuseRules> rules = any_rules(dice, storages);
    const Evaluation whole = evaluate(einsum, chip, mapping, {}, rules);
    // Last rounds that say what the factors say: not perfect to the letter.
    for (LevelMapping& level : mapping.levels) level.temporal_last = level.temporal, level.spatial_last = level.spatial;
    ASSERT_FALSE(perfect(mapping));
    const Evaluation counted = evaluate(einsum, chip, mapping, {}, rules);
    ASSERT_EQ(whole.cycles, counted.cycles) << "seed " << seed;
    ASSERT_NEAR(whole.energy_pj, counted.energy_pj, 1e-9 * (1 + whole.energy_pj)) << "seed " << seed;
    for (int i = 0; i < storages; ++i)
      for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
        const DataspaceCost& a = whole.storages[i].dataspaces[s];
        const DataspaceCost& b = counted.storages[i].dataspaces[s];
        ASSERT_EQ(a.reads, b.reads) << "seed " << seed;
        ASSERT_EQ(a.fills, b.fills) << "seed " << seed;
        ASSERT_EQ(a.updates, b.updates) << "seed " << seed;
        ASSERT_EQ(a.tile_words, b.tile_words) << "seed " << seed;
      }
  }
}

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
        const bool reads_first = rule(i, &ReuseRules::read_first_update);
        auto content = walk.brought(s, inner, i, inner < 0 || rule(inner, &ReuseRules::no_temporal_reuse), alone);
        auto share = walk.brought(s, i, i, rule(i, &ReuseRules::no_temporal_reuse), alone);
        if (outermost) share.clear();
        auto seen = walk.seen(s, i);
        double reads = 0, fills = 0, updates = 0;
        for (const auto& instance : instances) {
          double here = static_cast<double>(content[instance]), filled = static_cast<double>(share[instance]);
          const double first = static_cast<double>(seen[instance]), updated = read_write ? here : 0;
          if (read_write) {
            filled = outermost ? 0 : filled - first;
            if (!reads_first) here -= first;
          }
          reads += here, fills += filled, updates += updated;
          ports[instance].reads += here;
          ports[instance].writes += filled + updated;
        }
        const DataspaceCost& use = evaluation.storages[i].dataspaces[s];
        const auto where = [&] {
          return ::testing::Message() << "seed " << seed << " level " << i << " dataspace " << s;
        };
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
