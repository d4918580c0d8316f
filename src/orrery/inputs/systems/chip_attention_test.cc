// Laws of attention as one operator of a chip: what it moves, what it takes, when it is not there.
#include "orrery/inputs/systems/chip_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/inputs/layers/layer_question_test_util.h"
#include "orrery/inputs/systems/chip_operators.h"

namespace orrery::verbs {
namespace {

// DRAM with a port of `port` words a cycle, a buffer of `words` that never waits, 4 MACs.
std::shared_ptr<const machine::Chip> chip_with(base::Count words, double port = 0.5) {
  machine::Chip chip = testing::small_chip();
  chip.storages.front().capacity_words = words;
  chip.storages.front().read_words_per_cycle = chip.storages.front().write_words_per_cycle = 64;
  chip.storages.back().shared_words_per_cycle = port;
  return std::make_shared<const machine::Chip>(std::move(chip));
}

AskChip asking(const std::shared_ptr<const machine::Chip>& chip) {
  return [chip](const workload::Einsum& einsum) {
    LayerQuestion question;
    question.einsum = einsum;
    question.name = einsum.name;
    question.chip = chip;
    return question;
  };
}

ChipAttention on(const std::shared_ptr<const machine::Chip>& chip, const AttentionShape& shape) {
  return attention_on_chip(shape, asking(chip), asking(chip), {}, {});
}

double memory_words(const std::shared_ptr<const machine::Chip>& chip, const ChipAttention& one) {
  return one.levels.front().bytes * 8 / chip->storages.back().word_bits;
}

constexpr AttentionShape kShapes[] = {
    {8, 8, 4, 4, false}, {16, 8, 2, 6, false}, {4, 32, 8, 8, false}, {1, 16, 8, 8, false}};

machine::Operator attention_of(const AttentionShape& shape, base::Count heads = 1) {
  machine::Operator out;
  out.kind = machine::OperatorKind::kAttention;
  out.product = {heads, shape.queries, shape.keys, shape.width};
  out.value_width = shape.value_width;
  out.keeps_weights = shape.keeps_weights;
  return out;
}

TEST(ChipAttention, WithRoomForAllQueriesKeysValuesAndResultsPassTheMemoryOnceAndScoresNever) {
  const auto chip = chip_with(4096);
  for (const AttentionShape& s : kShapes) {
    const ChipAttention one = on(chip, s);
    ASSERT_TRUE(one.joined);
    EXPECT_TRUE(one.searched);
    const double least = static_cast<double>((s.queries + s.keys) * (s.width + s.value_width));
    EXPECT_GE(memory_words(chip, one), least);
    EXPECT_LE(memory_words(chip, one), least + 2);  // and what a softmax scales by, a word a sweep
  }
}

TEST(ChipAttention, ItTakesNoLessThanItsOperationsOnAllUnitsAndItsWordsThroughThePort) {
  for (const base::Count words : {64, 256, 4096}) {
    const auto chip = chip_with(words);
    for (const AttentionShape& s : kShapes) {
      const ChipAttention one = on(chip, s);
      if (!one.joined) continue;
      // Scores, values, and one sweep at least.
      const double operations = static_cast<double>(s.queries * s.keys * (s.width + s.value_width + 1));
      EXPECT_GE(one.seconds, operations / 4 * chip->cycle_seconds);
      EXPECT_GE(one.seconds, static_cast<double>((s.queries + s.keys) * (s.width + s.value_width)) / 0.5 *
                                 chip->cycle_seconds * (1 - 1e-12));
    }
  }
}

TEST(ChipAttention, WeightsThatABackwardPassReadsAreWrittenOnceAndCostNoLess) {
  const auto chip = chip_with(4096);
  for (AttentionShape shape : kShapes) {
    const ChipAttention gone = on(chip, shape);
    shape.keeps_weights = true;
    const ChipAttention kept = on(chip, shape);
    ASSERT_TRUE(gone.joined && kept.joined);
    EXPECT_FALSE(kept.online);
    EXPECT_NEAR(memory_words(chip, kept) - memory_words(chip, gone), static_cast<double>(shape.queries * shape.keys),
                2);
    EXPECT_GE(kept.seconds, gone.seconds);
  }
}

// Between them it may be: few numbers of turns are tried.
TEST(ChipAttention, NoBufferIsFasterThanOneWithRoomForAll) {
  for (const AttentionShape& shape : kShapes) {
    const ChipAttention whole = on(chip_with(4096), shape);
    int smaller = 0;
    for (const base::Count words : {32, 64, 128, 512}) {
      const ChipAttention one = on(chip_with(words), shape);
      if (!one.joined) continue;
      ++smaller;
      EXPECT_LE(whole.seconds, one.seconds) << words << " words, " << shape.queries << " x " << shape.keys;
    }
    EXPECT_GT(smaller, 1);
  }
}

TEST(ChipAttention, WithoutRoomForATileOfScoresThereIsNone) {
  const auto chip = chip_with(2);
  EXPECT_FALSE(on(chip, kShapes[0]).joined);
  const ChipOperators fused(chip, asking(chip), {}, {}, 0, asking(chip));
  EXPECT_FALSE(fused.attention_seconds(attention_of(kShapes[0])));
}

TEST(ChipAttention, OperatorsKnowForwardPassesAloneAndOnlyWhereTheyAreAskedTo) {
  const auto chip = chip_with(4096);
  const ChipOperators apart(chip, asking(chip), {}, {}), fused(chip, asking(chip), {}, {}, 0, asking(chip));
  machine::Operator one = attention_of(kShapes[0], 3);
  EXPECT_FALSE(apart.attention_seconds(one));
  const ChipAttention head = on(chip, kShapes[0]);
  EXPECT_DOUBLE_EQ(*fused.attention_seconds(one), 3 * head.seconds);
  EXPECT_DOUBLE_EQ(*fused.cost(one).joules, 3 * head.joules);
  EXPECT_DOUBLE_EQ(fused.cost(one).seconds, 3 * head.seconds);
  one.share = 0.5;
  EXPECT_DOUBLE_EQ(*fused.attention_seconds(one), 1.5 * head.seconds);
  EXPECT_EQ(fused.attentions().size(), 1u);  // once a shape
  one.gradient = true;
  EXPECT_FALSE(fused.attention_seconds(one));
  // Whole columns are kept, those that a mask hides, too.
  machine::Operator kept = attention_of({8, 8, 4, 4, true}, 2);
  kept.share = 0.5;
  EXPECT_DOUBLE_EQ(*fused.attention_seconds(kept), 2 * on(chip, {8, 8, 4, 4, true}).seconds);
}

}  // namespace
}  // namespace orrery::verbs
