#include "orrery/formats/amped/equation_options.h"

#include <gtest/gtest.h>

namespace orrery::formats::amped {
namespace {

TEST(AmpedEquationOptions, ConstantsAndDefectsAreTakenAndParametersLeft) {
  cluster::AmpedModel model;
  const Overrides left = take_equation_options(
      {{"equations.efficiency", "0.6"}, {"layers", "4"}, {"equations.defects.no_softmax", "true"}}, model);
  EXPECT_EQ(left, (Overrides{{"layers", "4"}}));
  EXPECT_EQ(model.constants.efficiency, 0.6);
  EXPECT_TRUE(model.defects.no_softmax);
  EXPECT_FALSE(model.defects.short_bubble);
}

TEST(AmpedEquationOptions, UnknownNamesAndImpossibleValuesAreAllReported) {
  cluster::AmpedModel model;
  try {
    take_equation_options({{"equations.eficiency", "0.6"},
                           {"equations.efficiency", "1.5"},
                           {"equations.exposed", "-1"},
                           {"equations.unit_bits", "0"},
                           {"equations.zero_gather", "much"},
                           {"equations.defects.softmax", "true"},
                           {"equations.defects.no_softmax", "1"}},
                          model);
    FAIL() << "was accepted";
  } catch (const base::InputError& error) {
    ASSERT_EQ(error.diagnostics.size(), 7u);
    for (const base::Diagnostic& one : error.diagnostics) EXPECT_EQ(one.code, "O1341");
    EXPECT_EQ(error.diagnostics[0].hints.at(0), "did you mean `efficiency`?");
  }
}

}  // namespace
}  // namespace orrery::formats::amped
