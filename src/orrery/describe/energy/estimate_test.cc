#include "orrery/describe/energy/estimate.h"

#include <cmath>

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orrery/describe/energy/dummy.h"
#include "orrery/describe/energy/estimate_test_util.h"

namespace orrery::energy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Estimators = std::vector<std::unique_ptr<Estimator>>;

template <typename... Ones>
Estimators list(Ones... ones) {
  Estimators all;
  (all.push_back(std::make_unique<Oracle>(std::move(ones))), ...);
  return all;
}

EstimatedComponent one(const Component& component, const Estimators& estimators) {
  base::Diagnostics found;
  auto estimated = estimate(std::vector{component}, estimators, {}, found);
  EXPECT_FALSE(found.has_errors()) << found.all()[0].message;
  return estimated.at(0);
}

base::Diagnostic error_of(const Component& component, const Estimators& estimators) {
  base::Diagnostics found;
  estimate(std::vector{component}, estimators, {}, found);
  EXPECT_EQ(found.all().size(), 1u);
  return found.all().empty() ? base::Diagnostic{} : found.all()[0];
}

TEST(Estimate, TheMostAccurateThatAnswersWins) {
  const auto estimators = list(Oracle("rough", "SRAM", 50, figure(1, 50)), Oracle("fine", "SRAM", 90, figure(2, 90)),
                               Oracle("proud", "SRAM", 99, refusal("not today")));
  const EstimatedComponent estimated = one(primitive("Buffer", "SRAM", {}, {"read"}), estimators);
  EXPECT_EQ(estimated.actions[0].energy_pj, 2);
  EXPECT_EQ(estimated.actions[0].accuracy_percent, 90);
  EXPECT_EQ(estimated.area_um2, 2);
}

TEST(Estimate, OfEquallyAccurateEstimatorsTheFirstWins) {
  const auto estimators = list(Oracle("a", "SRAM", 90, figure(1)), Oracle("b", "SRAM", 90, figure(2)));
  EXPECT_EQ(one(primitive("Buffer", "SRAM", {}, {"read"}), estimators).actions[0].energy_pj, 1);
}

TEST(Estimate, PlugInNamesTheEstimatorInOurWordsOrAccelergys) {
  const auto estimators = list(Oracle("table", "SRAM", 100, figure(1)), Oracle("sram", "SRAM", 80, figure(2)));
  for (const char* name : {"sram", "SRAM", "CactiSRAM"}) {
    const auto component = primitive("Buffer", "SRAM", {{"plug_in", word(name)}}, {"read"});
    EXPECT_EQ(one(component, estimators).actions[0].energy_pj, 2) << name;
  }
  const auto error = error_of(primitive("Buffer", "SRAM", {{"plug_in", word("srma")}}, {"read"}), estimators);
  EXPECT_EQ(error.code, "O1201");
  EXPECT_THAT(error.hints, ElementsAre("did you mean `sram`?"));
}

TEST(Estimate, MinimumAccuracyKeepsRougherOnesOut) {
  const auto estimators = list(Oracle("rough", "SRAM", 70, figure(1)));
  EXPECT_EQ(one(primitive("B", "SRAM", {{"minimum_accuracy", whole(70)}}, {"read"}), estimators).area_um2, 1);
  const auto error = error_of(primitive("B", "SRAM", {{"minimum_accuracy", whole(71)}}, {"read"}), estimators);
  EXPECT_THAT(error.notes, ElementsAre("rough: its accuracy of 70 % is below `minimum_accuracy`, 71 %"));
}

TEST(Estimate, InstancesOfAPrimitiveMultiplyLeakageAndAreaOnly) {
  const auto estimators = list(Oracle("a", "SRAM", 90, figure(1.5)));
  const auto estimated = one(primitive("B", "SRAM", {{"n_instances", whole(4)}}, {"read", "leak"}), estimators);
  EXPECT_EQ(estimated.actions[0].energy_pj, 1.5);
  EXPECT_EQ(estimated.actions[1].energy_pj, 6);
  EXPECT_EQ(estimated.area_um2, 6);
  const auto error = error_of(primitive("B", "SRAM", {{"n_instances", word("many")}}, {"read"}), estimators);
  EXPECT_THAT(error.notes, ElementsAre("a: `n_instances` is not a count, but `many`"));
}

TEST(Estimate, AnActionIsTheWeightedSumOfItsTerms) {
  Component component = primitive("MAC", "adder", {}, {});
  component.primitives.push_back({"MAC.mul", "multiplier", {}, 0.5, {}});
  component.actions.push_back({"compute", {}, {{0, "add", {}, 3}, {1, "multiply", {}, 0.25}}});
  const auto estimators =
      list(Oracle("a", "adder", 90, figure(2, 90, "x")), Oracle("m", "multiplier", 60, figure(8, 60, "y")));
  const auto estimated = one(component, estimators);
  EXPECT_EQ(estimated.actions[0].energy_pj, 3 * 2 + 0.25 * 8);
  EXPECT_EQ(estimated.actions[0].accuracy_percent, 60);
  EXPECT_EQ(estimated.actions[0].source, "oracle: x; oracle: y");
  EXPECT_EQ(estimated.area_um2, 2 + 0.5 * 8);
  ASSERT_EQ(estimated.actions[0].shares.size(), 2u);
  EXPECT_EQ(estimated.actions[0].shares[1].primitive, "MAC.mul");
}

TEST(Estimate, EqualQueriesAreAskedOnce) {
  auto estimators = list(Oracle("a", "SRAM", 90, figure(1)));
  const auto& oracle = static_cast<const Oracle&>(*estimators[0]);
  const Component component = primitive("B", "SRAM", {{"width", whole(8)}}, {"read"});
  base::Diagnostics found;
  estimate(std::vector{component, component, component}, estimators, {}, found);
  EXPECT_EQ(oracle.asked, 2);  // read and area
}

TEST(Estimate, WhatNobodyKnowsIsAnErrorWithEveryReasonAndNeverAZero) {
  const auto estimators =
      list(Oracle("table", "SRAM", 100, refusal("SRAM.csv line 2 differs in width: 16, not 32")),
           Oracle("sram", "SRAM", 80, refusal("needs `depth`")), Oracle("dram", "DRAM", 80, figure(1)));
  const auto error = error_of(primitive("Buffer", "SRAM", {}, {"read", "write"}), estimators);
  EXPECT_EQ(error.code, "O1201");
  EXPECT_EQ(error.message, "no estimator has the energy of `read`, `write` and the area of `Buffer`, class `SRAM`");
  EXPECT_THAT(error.notes, ElementsAre("table: SRAM.csv line 2 differs in width: 16, not 32", "sram: needs `depth`",
                                       "dram: does not know class `SRAM`"));
}

TEST(Estimate, AClassThatNobodyKnowsIsComparedWithThoseKnown) {
  const auto estimators = list(Oracle("sram", "SRAM", 80, figure(1)), Oracle("dram", "DRAM", 80, figure(1)));
  const auto error = error_of(primitive("Buffer", "SRAMM", {}, {"read"}), estimators);
  EXPECT_THAT(error.notes, ElementsAre("sram, dram: do not know class `SRAMM`"));
  EXPECT_THAT(error.hints, ElementsAre("did you mean `SRAM`?"));
}

TEST(Estimate, AllThatIsUnknownIsToldAtOnce) {
  base::Diagnostics found;
  const auto estimators = list(Oracle("sram", "SRAM", 80, figure(1)));
  estimate(std::vector{primitive("A", "X", {}, {"read"}), primitive("B", "Y", {}, {"read"})}, estimators, {}, found);
  EXPECT_EQ(found.all().size(), 2u);
}

TEST(Estimate, AFigureBeyondItsBoundsIsAWarningOnceForEachComponent) {
  Figure far = std::get<Figure>(figure(2));
  far.beyond = {"1 bit is below the 8 bit of the narrowest word, by a factor of 8"};
  far.node_rule = "linear below 22 nm";
  far.expected_error_percent = 120;
  std::vector<std::unique_ptr<Estimator>> estimators;
  estimators.push_back(std::make_unique<Oracle>("oracle", "X", 80, far));
  const std::vector<Component> components{primitive("A", "X", {}, {"read", "write"}),
                                          primitive("B", "X", {}, {"read"})};
  base::Diagnostics found;
  estimate(components, estimators, {}, found);
  ASSERT_EQ(found.all().size(), 2u);
  const base::Diagnostic& first = found.all()[0];
  EXPECT_EQ(first.severity, base::Severity::kWarning);
  EXPECT_EQ(first.code, "O1263");
  EXPECT_EQ(first.message, "`A` is outside the range of its estimator");
  EXPECT_EQ(first.notes,
            (std::vector<std::string>{
                far.beyond[0], "technology: linear below 22 nm",
                "`oracle` extrapolates; its figures may be off by 120 % (read), 120 % (write), 120 % (area)"}));
  EXPECT_EQ(found.all()[1].message, "`B` is outside the range of its estimator");
}

TEST(Estimate, WhatCountsZeroTimesNeedNotBeKnown) {
  Component component = primitive("A", "X", {}, {});
  component.primitives[0].area_weight = 0;
  component.actions.push_back({"read", {}, {{0, "read", {}, 0}}});
  const auto estimated = one(component, {});
  EXPECT_EQ(estimated.actions[0].energy_pj, 0);
  EXPECT_EQ(estimated.actions[0].source, "nothing counts");
}

TEST(Estimate, AFigureThatIsNoNumberIsAnError) {
  Component component = primitive("A", "X", {}, {"read"});
  component.actions[0].terms[0].weight = INFINITY;
  const auto error = error_of(component, list(Oracle("a", "X", 80, figure(1))));
  EXPECT_EQ(error.code, "O1202");
  EXPECT_THAT(error.message, HasSubstr("the energy of `read` of `A` comes out as inf"));
  const auto negative = error_of(primitive("A", "X", {}, {"read"}), list(Oracle("a", "X", 80, figure(-1))));
  EXPECT_THAT(negative.notes, Contains("a: computed -1, which cannot be used (a book)"));
}

TEST(Estimate, SixDigitsRoundAsPythonDoes) {
  EXPECT_EQ(six_digits(0.27692293), 0.276923);
  EXPECT_EQ(six_digits(901693.4), 901693);
  EXPECT_EQ(six_digits(12345678), 12345700);
  EXPECT_EQ(six_digits(0.00100325961), 0.00100326);
  EXPECT_EQ(six_digits(999999.5), 1000000);
  EXPECT_EQ(six_digits(1.0000005), 1);  // half to even on the exact value
  EXPECT_EQ(six_digits(0), 0);
  EXPECT_EQ(six_digits(1e300), 1e300);
}

TEST(Dummy, AnswersForTechnologyMinusOneOnly) {
  const Dummy dummy;
  const Attributes minus{{"technology", whole(-1)}};
  const Attributes other{{"technology", word("32nm")}};
  EXPECT_EQ(dummy.accuracy({"x", minus, "read", {}}), 100);
  EXPECT_FALSE(dummy.accuracy({"x", other, "read", {}}));
  EXPECT_FALSE(dummy.accuracy({"x", {}, "read", {}}));
  EXPECT_EQ(answer(dummy, "x", minus, "idle").value, 1);
  EXPECT_EQ(answer(dummy, "x", minus, "leak").value, 0);
  EXPECT_EQ(answer(dummy, "x", minus, "").value, 1);
}

RC_GTEST_PROP(Estimate, ScalingEveryWeightScalesTheSum, (int first, int second)) {
  const double a = 1 + std::abs(first % 1000);
  const double b = 1 + std::abs(second % 1000);
  Component component = primitive("A", "X", {}, {});
  component.actions.push_back({"read", {}, {{0, "x", {}, a}, {0, "y", {}, b}}});
  component.actions.push_back({"twice", {}, {{0, "x", {}, 2 * a}, {0, "y", {}, 2 * b}}});
  const auto estimated = one(component, list(Oracle("a", "X", 80, figure(0.125))));
  RC_ASSERT(estimated.actions[1].energy_pj == six_digits(2 * 0.125 * (a + b)));
}

}  // namespace
}  // namespace orrery::energy
