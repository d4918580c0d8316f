#include "orrery/formats/accelforge/set_expression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace orrery::formats::accelforge {
namespace {

using Kind = SetValue::Kind;

// An einsum Z[m, n] = A[m, k] B[k, n].
Symbols product() {
  Symbols symbols;
  symbols.tensors = {"A", "B", "Z"};
  symbols.variables = {"m", "k", "n"};
  symbols.variables_of = {0b011, 0b110, 0b101};
  symbols.bits_of = {8, 4, 16};
  for (std::size_t i = 0; i < 3; ++i) symbols.names[symbols.tensors[i]] = SetValue::tensors(Bits{1} << i);
  symbols.names["All"] = SetValue::tensors(0b111);
  symbols.names["Nothing"] = SetValue::tensors(0);
  symbols.names["Outputs"] = SetValue::tensors(0b100);
  return symbols;
}

double number(const std::string& text) {
  const SetValue value = evaluate(text, product());
  return value.is(Kind::kNumber) ? value.number : std::numeric_limits<double>::quiet_NaN();
}

Bits set(const std::string& text) {
  const SetValue value = evaluate(text, product());
  return value.is(Kind::kTensors) ? value.set : ~Bits{0};
}

std::string code(const std::string& text) {
  try {
    evaluate(text, product());
    return "";
  } catch (const SetExpressionError& error) {
    return error.code;
  }
}

TEST(SetExpression, NumbersAreThoseOfPython) {
  EXPECT_EQ(number("1024*1024*128*8"), 1073741824);
  EXPECT_EQ(number("8 * 614e9"), 8 * 614e9);
  EXPECT_EQ(number("-7 // 2"), -4);
  EXPECT_EQ(number("-7 % 3"), 2);
  EXPECT_EQ(number("2 ** 3 ** 2"), 512);
  EXPECT_EQ(number("ceil(7 / 2) + max(1, 2, 3) - min(4, 5)"), 3);
  EXPECT_EQ(number("inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number("1 if 2 > 1 else 1 / 0"), 1);
  EXPECT_EQ(number("1 / 0 if 1 > 2 else 3"), 3);
  EXPECT_EQ(number("not (1 < 2 <= 2) or 0"), 0);
}

TEST(SetExpression, SetsAreOfTheEinsumsTensors) {
  EXPECT_EQ(set("~Outputs"), 0b011u);
  EXPECT_EQ(set("A | B"), 0b011u);
  EXPECT_EQ(set("All - A"), 0b110u);
  EXPECT_EQ(set("~(A | Outputs) & All"), 0b010u);
  EXPECT_EQ(set("All() if len(All) == 3 else Nothing"), 0b111u);
  EXPECT_EQ(set("A.tensors"), 0b001u);
  EXPECT_EQ(number("3 * Z.bits_per_value"), 48);
  EXPECT_EQ(number("B.bits_per_value if B else 0"), 4);
  EXPECT_EQ(evaluate("(A | Nothing).rank_variables", product()).set, 0b011u);
}

TEST(SetExpression, TimesAreTheLargestOfSumsOfCalls) {
  Symbols symbols = product();
  symbols.actions = {{"read", {{"throughput", 4}}}, {"write", {{"throughput", 2}}}};
  const SetValue sum = evaluate("sum(a.n_calls / a.throughput for a in actions)", symbols);
  ASSERT_EQ(sum.times.size(), 1u);
  EXPECT_EQ(sum.times[0], (std::vector<double>{0.25, 0.5}));
  const SetValue largest = evaluate("2 * max(a.n_calls / a.throughput for a in actions)", symbols);
  ASSERT_EQ(largest.times.size(), 2u);
  EXPECT_EQ(largest.times[0], (std::vector<double>{0.5, 0}));
  EXPECT_EQ(largest.times[1], (std::vector<double>{0, 1}));
  const SetValue whole = evaluate("sum(a.n_calls for a in actions) / 32 / 200e6", symbols);
  EXPECT_DOUBLE_EQ(whole.times[0][0], 1 / 6.4e9);
}

TEST(SetExpression, MistakesHaveACode) {
  EXPECT_EQ(code("1 +"), "O0200");
  EXPECT_EQ(code("Inputs"), "O0201");
  EXPECT_EQ(code("A + 1"), "O0202");
  EXPECT_EQ(code("All.bits_per_value"), "O0202");
  EXPECT_EQ(code("1 / 0"), "O0204");
  EXPECT_EQ(code(std::string(100, '(')), "O0208");
  EXPECT_EQ(code(std::string(5000, '1')), "O0208");
}

}  // namespace
}  // namespace orrery::formats::accelforge
