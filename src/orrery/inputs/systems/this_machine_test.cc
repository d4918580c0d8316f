#include "orrery/inputs/systems/this_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/inputs/systems/machine_operators.h"

namespace orrery::verbs {
namespace {

TEST(ThisMachine, TheSameQuestionHasTheSameAnswer) {
  const ThisMachine here(1);
  const MachineOperators operators(here, machine::Precision::kFp32);
  const machine::MatrixProduct product{1, 64, 96, 128, machine::Precision::kFp32};
  EXPECT_EQ(operators.matrix_product_seconds(product), operators.matrix_product_seconds(product));
  EXPECT_EQ(operators.memory_bound_seconds(2e6), 2 * operators.memory_bound_seconds(1e6));
}

// The least of what several objects measure of each question, in turn: what else runs on the machine only adds time.
template <typename Question>
std::pair<double, double> least_seconds(const Question& first, const Question& second) {
  constexpr int kTurns = 3;
  const ThisMachine here(1);
  std::pair<double, double> least{HUGE_VAL, HUGE_VAL};
  for (int turn = 0; turn < kTurns; ++turn) {
    const MachineOperators operators(here, machine::Precision::kFp32);
    least.first = std::min(least.first, operators.cost(first).seconds);
    least.second = std::min(least.second, operators.cost(second).seconds);
  }
  return least;
}

TEST(ThisMachine, LargeProductsTakeTheirShareOfTheOperations) {
  const auto product = [](base::Count rows) {
    return machine::Operator::of({1, rows, 8192, 8192, machine::Precision::kFp32});
  };
  const auto [whole, half] = least_seconds(product(1 << 20), product(1 << 19));
  EXPECT_NEAR(whole / half, 2, 0.5);
}

TEST(ThisMachine, EmptyProductsTakeNoTimeAndUnsupportedOnesNeverEnd) {
  const ThisMachine here(1);
  const MachineOperators operators(here, machine::Precision::kFp32);
  EXPECT_EQ(operators.matrix_product_seconds({1, 0, 8, 8, machine::Precision::kFp32}), 0);
  EXPECT_TRUE(std::isinf(operators.matrix_product_seconds({1, 8, 8, 8, machine::Precision::kFp8})));
}

TEST(ThisMachine, MaskedAttentionTakesLessThanAllOfIt) {
  machine::Operator one;
  one.kind = machine::OperatorKind::kAttention;
  one.product = {8, 512, 512, 64, machine::Precision::kFp32};
  one.value_width = 64;
  machine::Operator causal = one;
  causal.share = 0.5;
  const auto [whole, masked] = least_seconds(one, causal);
  EXPECT_LT(masked, whole);
}

}  // namespace
}  // namespace orrery::verbs
