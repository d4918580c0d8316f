#include "orrery/engines/nest/model/accounting.h"

#include <gtest/gtest.h>

#include "orrery/engines/nest/model/model.h"

namespace orrery::nest {
namespace {

using base::Count;

PricedLevel priced(const machine::Storage& storage, const ModelOptions& options = {}, const ReuseRules& rules = {}) {
  machine::Chip chip;
  chip.storages = {storage};
  return priced_levels({}, chip, options, {rules}).at(0);
}

void expect_words(const Words<Count>& words, Count reads, Count fills, Count updates) {
  EXPECT_EQ(words.reads, reads);
  EXPECT_EQ(words.fills, fills);
  EXPECT_EQ(words.updates, updates);
}

TEST(Accounting, OperandsAreReadAndFilled) {
  const PricedLevel level = priced({});
  expect_words(served<Count>(level, false, 0, 12, 5), 12, 0, 0);
  expect_words(received<Count>(level, false, 0, 12, 5), 0, 12, 0);
}

TEST(Accounting, FirstUpdatesNeitherReadNorFill) {
  const PricedLevel level = priced({});
  expect_words(served<Count>(level, true, 0, 12, 5), 7, 0, 12);
  expect_words(received<Count>(level, true, 0, 12, 5), 0, 7, 0);
}

TEST(Accounting, WhereFirstUpdatesReadEachUpdateReads) {
  const PricedLevel level = priced({}, {}, {.read_first_update = 0b10});
  expect_words(served<Count>(level, true, 1, 12, 5), 12, 0, 12);
  expect_words(served<Count>(level, true, 0, 12, 5), 7, 0, 12);
  expect_words(received<Count>(level, true, 1, 12, 5), 0, 7, 0);
}

TEST(Accounting, ValuesOfTheirOwnWidthSharePortsAndBlocks) {
  workload::Einsum einsum = workload::matmul("", 1, 1, 1);
  einsum.dataspaces[0].bits = 4;
  einsum.dataspaces[1].bits = 8;
  machine::Storage storage;  // words of 16 bits, and so are the Outputs
  storage.block_size = 2;
  storage.energy.read_pj = 10;
  storage.read_words_per_cycle = 1;
  machine::Chip chip;
  chip.storages = {storage};
  const PricedLevel level = priced_levels(einsum, chip, {}, {}).at(0);
  EXPECT_EQ(level.units.word, 4);
  EXPECT_EQ(level.units.value[0], 1);
  EXPECT_EQ(level.units.value[1], 2);
  EXPECT_EQ(level.units.value[2], 4);
  // 12 values of 4 bits are three words, two blocks; of 8 bits six words, three blocks.
  const Words<Count> weights = served<Count>(level, false, 0, 12, 5), inputs = served<Count>(level, false, 1, 12, 5);
  EXPECT_EQ(energy_pj(level, weights, 1), 20);
  EXPECT_EQ(energy_pj(level, inputs, 1), 30);
  EXPECT_EQ(level.port_cycles(static_cast<double>(weights.reads + inputs.reads), 0), 9);
}

TEST(Accounting, DrainsReadWhatIsSentUp) {
  ModelOptions options;
  options.count_drain_reads = options.fractional_blocks = true;
  const PricedLevel level = priced({}, options);
  expect_words(received<Count>(level, true, 0, 12, 5), 12, 7, 0);
  expect_words(received<Count>(level, false, 0, 12, 5), 0, 12, 0);
}

TEST(Accounting, BlocksAreBoughtWholeUnlessPartsCount) {
  machine::Storage storage;
  storage.block_size = 8;
  storage.energy.read_pj = 16;
  storage.energy.write_pj = 8;
  const Words<Count> words{3, 9, 0};
  EXPECT_DOUBLE_EQ(energy_pj(priced(storage), words, 1), 1 * 16 + 2 * 8);
  ModelOptions options;
  options.fractional_blocks = true;
  EXPECT_DOUBLE_EQ(energy_pj(priced(storage, options), words, 1), 3.0 / 8 * 16 + 9.0 / 8 * 8);
}

TEST(Accounting, AClusterOfInstancesPaysOnce) {
  machine::Storage storage;
  storage.instances = 16;
  storage.cluster_size = 4;
  EXPECT_EQ(priced(storage).paying(16), 4);
  EXPECT_EQ(priced(storage).paying(3), 3) << "those in use stand in different clusters";
  storage.cluster_size = 64;
  EXPECT_EQ(priced(storage).paying(16), 1);
  storage.cluster_size = 1;
  EXPECT_EQ(priced(storage).paying(16), 16);
}

TEST(Accounting, PassThroughLeaksOnlyWhereItIsCharged) {
  machine::Storage storage;
  storage.pass_through = true;
  storage.energy.leak_pj_per_cycle = 1;
  EXPECT_EQ(priced(storage).leak_pj_per_cycle, 0);
  EXPECT_EQ(priced(storage, ModelOptions::timeloop()).leak_pj_per_cycle, 1);
}

TEST(Accounting, TheSlowestPortDecides) {
  machine::Storage storage;
  EXPECT_FALSE(priced(storage).limited());
  storage.read_words_per_cycle = 2;
  storage.write_words_per_cycle = 4;
  storage.shared_words_per_cycle = 3;
  EXPECT_TRUE(priced(storage).limited());
  EXPECT_DOUBLE_EQ(priced(storage).port_cycles(42, 35), 77.0 / 3);
  EXPECT_DOUBLE_EQ(priced(storage).port_cycles(42, 0), 21);
}

// 16 rows on 16 buffers, four to a cluster: 16 fills cost four, the memory's reads cost what they are.
TEST(Accounting, EvaluationPaysByCluster) {
  workload::Einsum einsum;
  einsum.name = "rows";
  einsum.dimensions = {{"P", 16}};
  einsum.dataspaces = {{"Row", {{{{0, 1}}}}, false}};
  machine::Chip chip;
  chip.storages.resize(2);
  chip.storages[0].instances = 16;
  chip.storages[0].cluster_size = 4;
  chip.storages[0].energy.write_pj = 1;
  chip.storages[1].energy.read_pj = 1;
  LevelMapping level;
  level.temporal = level.spatial = {1};
  level.temporal_order = level.spatial_order = {0};
  level.keep = 1;
  Mapping mapping{{level, level}};
  mapping.levels[1].spatial = {16};
  const Evaluation evaluation = evaluate(einsum, chip, mapping);
  EXPECT_EQ(evaluation.storages[0].dataspaces[0].fills, 1);
  EXPECT_DOUBLE_EQ(evaluation.storages[0].dataspaces[0].energy_pj, 4);
  EXPECT_DOUBLE_EQ(evaluation.storages[1].dataspaces[0].energy_pj, 16);
}

}  // namespace
}  // namespace orrery::nest
