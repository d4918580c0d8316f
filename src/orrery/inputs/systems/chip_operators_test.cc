#include "orrery/inputs/systems/chip_operators.h"

#include <gtest/gtest.h>

#include <atomic>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/inputs/layers/layer_question_test_util.h"

namespace orrery::verbs {
namespace {

using machine::MatrixProduct;
using machine::Operator;
using machine::OperatorKind;

// DRAM with a port, a buffer and 4 MACs.
machine::Chip chip_with_port(double words_per_cycle = 4) {
  machine::Chip chip = testing::small_chip();
  chip.storages.back().shared_words_per_cycle = words_per_cycle;
  return chip;
}

struct Asked {
  std::shared_ptr<const machine::Chip> chip;
  ChipOperators operators;

  explicit Asked(machine::Chip value, const nest::Mapspace& space = {}, int threads = 1)
      : chip(std::make_shared<const machine::Chip>(std::move(value))),
        operators(
            chip,
            [this, space](const workload::Einsum& einsum) {
              LayerQuestion question;
              question.einsum = einsum;
              question.name = einsum.name;
              question.chip = chip;
              question.space = space;
              return question;
            },
            {}, base::Limits{.threads = threads}) {}
};

// Operands and result in the DRAM.
nest::Mapspace in_memory() {
  nest::Mapspace space;
  for (int s = 0; s < 3; ++s) {
    nest::Constraint keep;
    keep.kind = nest::Constraint::Kind::kKeep;
    keep.level = 1;
    keep.dataspace = s;
    space.constraints.push_back(keep);
  }
  return space;
}

constexpr MatrixProduct kProducts[] = {{1, 8, 8, 8}, {1, 16, 4, 32}, {1, 3, 5, 7}, {1, 64, 2, 1}, {1, 1, 1, 1}};

TEST(ChipOperators, AProductTakesAsLongAsItsBestMappingAndABatchThatManyTimesAsLong) {
  const Asked asked(chip_with_port());
  for (const MatrixProduct& product : kProducts) {
    const workload::Einsum einsum = workload::matmul("product", product.n, product.k, product.m);
    const nest::Optimum best = nest::optimize(nest::Model(einsum, *asked.chip), in_memory(), {nest::Metric::kDelay});
    const double seconds = static_cast<double>(best.evaluation.cycles) * asked.chip->cycle_seconds;
    EXPECT_DOUBLE_EQ(asked.operators.matrix_product_seconds(product), seconds);
    MatrixProduct seven = product;
    seven.batch = 7;
    EXPECT_DOUBLE_EQ(asked.operators.matrix_product_seconds(seven), 7 * seconds);
    EXPECT_DOUBLE_EQ(asked.operators.cost(Operator::of(seven)).seconds, 7 * seconds);
  }
  EXPECT_EQ(asked.operators.searched(), std::size(kProducts));  // once a shape
  EXPECT_TRUE(asked.operators.unproven().empty());
  EXPECT_EQ(asked.operators.matrix_product_seconds({0, 8, 8, 8}), 0);
}

TEST(ChipOperators, OfTheFastestMappingsTheOneOfLeastEnergyIsPaidFor) {
  const Asked asked(chip_with_port());
  for (const MatrixProduct& product : kProducts) {
    const workload::Einsum einsum = workload::matmul("product", product.n, product.k, product.m);
    const nest::Optimum best =
        nest::optimize(nest::Model(einsum, *asked.chip), in_memory(), {nest::Metric::kDelay, nest::Metric::kEnergy});
    EXPECT_DOUBLE_EQ(*asked.operators.cost(Operator::of(product)).joules, best.evaluation.energy_pj * 1e-12);
  }
}

TEST(ChipOperators, AnswersDependNeitherOnThreadsNorOnTheOrderOfQuestions) {
  const Asked one(chip_with_port(), {}, 1), four(chip_with_port(), {}, 4);
  four.operators.prepare({std::begin(kProducts), std::end(kProducts)});
  EXPECT_EQ(four.operators.searched(), std::size(kProducts));
  for (auto product = std::rbegin(kProducts); product != std::rend(kProducts); ++product) {
    const machine::Cost a = one.operators.cost(Operator::of(*product)), b = four.operators.cost(Operator::of(*product));
    EXPECT_EQ(a.seconds, b.seconds);
    EXPECT_EQ(a.joules, b.joules);
    EXPECT_EQ(a.binds, b.binds);
  }
}

TEST(ChipOperators, TheLevelThatBindsIsTheOneThatTakesLongest) {
  const MatrixProduct cube{1, 16, 16, 16};
  const Asked starved(chip_with_port(0.125)), ample(chip_with_port(1e6));
  const machine::Cost slow = starved.operators.cost(Operator::of(cube)),
                      fast = ample.operators.cost(Operator::of(cube));
  EXPECT_EQ(slow.binds, "DRAM");
  EXPECT_EQ(slow.levels.front().name, "DRAM");
  EXPECT_DOUBLE_EQ(slow.levels.front().seconds, slow.seconds);
  EXPECT_NE(fast.binds, "DRAM");
  EXPECT_GT(slow.seconds, fast.seconds);
  for (const machine::LevelCost& level : slow.levels) EXPECT_LE(level.seconds, slow.seconds * (1 + 1e-12));
}

TEST(ChipOperators, AWiderPortMoreMemoryOrMoreMultipliersNeverSlowAProduct) {
  double before = std::numeric_limits<double>::infinity();
  const MatrixProduct product{1, 24, 20, 36};
  for (const double words : {0.25, 0.5, 1.0, 2.0, 64.0}) {
    const double seconds = Asked(chip_with_port(words)).operators.matrix_product_seconds(product);
    EXPECT_LE(seconds, before) << words;
    before = seconds;
  }
  before = std::numeric_limits<double>::infinity();
  for (const base::Count words : {16, 64, 256, 4096}) {
    machine::Chip chip = chip_with_port(1);
    chip.storages.front().capacity_words = words;
    const double seconds = Asked(chip).operators.matrix_product_seconds(product);
    EXPECT_LE(seconds, before) << words;
    before = seconds;
  }
  before = std::numeric_limits<double>::infinity();
  for (const base::Count units : {1, 2, 4, 12, 60}) {
    machine::Chip chip = chip_with_port(8);
    chip.compute.instances = chip.compute.mesh_x = units;
    const double seconds = Asked(chip).operators.matrix_product_seconds(product);
    EXPECT_LE(seconds, before) << units;
    before = seconds;
  }
}

TEST(ChipOperators, WhatIsNoProductPassesThePortOnce) {
  const Asked asked(chip_with_port(4));  // 4 words of 2 bytes in a nanosecond
  EXPECT_DOUBLE_EQ(asked.operators.memory_bound_seconds(8e9), 1);
  const machine::Cost cost = asked.operators.cost(Operator::moving(OperatorKind::kNormalisation, 8e9));
  EXPECT_DOUBLE_EQ(cost.seconds, 1);
  EXPECT_EQ(cost.binds, "DRAM");
  EXPECT_DOUBLE_EQ(*cost.joules, 4e9 * 64e-12);  // 64 pJ a word
}

TEST(ChipOperators, AttentionIsItsTwoProductsOfTheScoresThatAreSeen) {
  const Asked asked(chip_with_port());
  Operator attention;
  attention.kind = OperatorKind::kAttention;
  attention.product = {4, 16, 16, 8};
  attention.value_width = 6;
  attention.share = 0.5;
  EXPECT_DOUBLE_EQ(asked.operators.cost(attention).seconds,
                   0.5 * (asked.operators.matrix_product_seconds({4, 16, 16, 8}) +
                          asked.operators.matrix_product_seconds({4, 16, 6, 16})));
  EXPECT_DOUBLE_EQ(*asked.operators.cost(attention).joules,
                   0.5 * (*asked.operators.cost(Operator::of({4, 16, 16, 8})).joules +
                          *asked.operators.cost(Operator::of({4, 16, 6, 16})).joules));
}

TEST(ChipOperators, AProductThatTheConstraintsLeaveNoMappingForIsNamed) {
  nest::Mapspace space;
  nest::Constraint whole;  // E is 8, and cannot be 100 in the buffer
  whole.level = 0;
  whole.dimension = 0;
  whole.value = 100;
  whole.text = "E=100";
  space.constraints.push_back(whole);
  const Asked asked(chip_with_port(), space);
  const auto errors = base::refused([&] { asked.operators.matrix_product_seconds({1, 8, 100, 8}); });
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "O1391");
  EXPECT_NE(errors[0].message.find("8 x 8 times 8 x 100"), std::string::npos);
}

TEST(ChipOperators, ASearchThatEndsBeforeItHasAMappingSaysSo) {
  const std::atomic<bool> stop = true;
  const auto chip = std::make_shared<const machine::Chip>(chip_with_port());
  const ChipOperators operators(
      chip,
      [&](const workload::Einsum& einsum) {
        LayerQuestion question;
        question.einsum = einsum;
        question.chip = chip;
        return question;
      },
      {}, base::Limits{.stop = &stop});
  try {
    operators.matrix_product_seconds({1, 720720, 720720, 720720});
    EXPECT_EQ(operators.unproven().size(), 1u);  // a mapping made in no time, with its gap
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.diagnostics.at(0).code, "O1392");
  }
}

TEST(MemoryPort, AStreamHalfReadAndHalfWrittenIsLimitedByTheNarrowerPort) {
  machine::Chip chip = testing::small_chip();
  machine::Storage& memory = chip.storages.back();
  EXPECT_EQ(machine::memory_port(chip).bytes_per_s, 0);
  base::Diagnostics found;
  machine::accelerator_of(chip, {}, found);
  EXPECT_EQ(found.all().at(0).code, "O1390");
  memory.read_words_per_cycle = 8;
  EXPECT_DOUBLE_EQ(machine::memory_port(chip).bytes_per_s, 32e9);  // 8 read beside 8 written, 2 bytes each, 1 GHz
  memory.write_words_per_cycle = 2;
  EXPECT_DOUBLE_EQ(machine::memory_port(chip).bytes_per_s, 8e9);
  memory.shared_words_per_cycle = 3;
  EXPECT_DOUBLE_EQ(machine::memory_port(chip).bytes_per_s, 6e9);
  memory.instances = 4;
  EXPECT_DOUBLE_EQ(machine::memory_port(chip).bytes_per_s, 24e9);
  EXPECT_DOUBLE_EQ(machine::accelerator_of(chip, {}, found).peak(machine::Precision::kBf16), 8e9);
}

}  // namespace
}  // namespace orrery::verbs
