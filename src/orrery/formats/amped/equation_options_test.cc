#include "orrery/formats/amped/equation_options.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::amped {
namespace {

TEST(AmpedEquationOptions, ConstantsAndDefectsAreTakenAndParametersLeft) {
  equations::Model model;
  const Overrides left = take_equation_options(
      {{"equations.efficiency", "0.6"}, {"layers", "4"}, {"equations.defects.no_softmax", "true"}}, model);
  EXPECT_EQ(left, (Overrides{{"layers", "4"}}));
  EXPECT_EQ(model.constants.efficiency, 0.6);
  EXPECT_TRUE(model.defects.no_softmax);
  EXPECT_FALSE(model.defects.short_bubble);
}

TEST(AmpedEquationOptions, UnknownNamesAndImpossibleValuesAreAllReported) {
  equations::Model model;
  const auto errors = base::refused([&] {
    take_equation_options({{"equations.eficiency", "0.6"},
                           {"equations.efficiency", "1.5"},
                           {"equations.exposed", "-1"},
                           {"equations.unit_bits", "0"},
                           {"equations.zero_gather", "much"},
                           {"equations.defects.softmax", "true"},
                           {"equations.defects.no_softmax", "1"}},
                          model);
  });
  ASSERT_EQ(errors.size(), 7u);
  for (const base::Diagnostic& one : errors) EXPECT_EQ(one.code, "O1341");
  EXPECT_EQ(errors.at(0).hints.at(0), "did you mean `efficiency`?");
}

}  // namespace
}  // namespace orrery::formats::amped
