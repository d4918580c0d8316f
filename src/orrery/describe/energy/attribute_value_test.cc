#include "orrery/describe/energy/attribute_value.h"

#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace orrery::energy {
namespace {

TEST(Value, FloatsReadAsPythonPrintsThem) {
  EXPECT_EQ(text(1.2e-9), "1.2e-09");
  EXPECT_EQ(text(1e-9), "1e-09");
  EXPECT_EQ(text(1e-6), "1e-06");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00012), "0.00012");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(0.5), "0.5");
  EXPECT_EQ(text(16.0), "16.0");
  EXPECT_EQ(text(123.456), "123.456");
  EXPECT_EQ(text(1e15), "1000000000000000.0");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(1.5e300), "1.5e+300");
  EXPECT_EQ(text(-2.5), "-2.5");
  EXPECT_EQ(text(0.0), "0.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(0.1 + 0.2), "0.30000000000000004");
}

TEST(Value, OtherKindsReadAsPythonPrintsThem) {
  EXPECT_EQ(text(base::Count{8}), "8");
  EXPECT_EQ(text(base::Count{-1}), "-1");
  EXPECT_EQ(text(true), "True");
  EXPECT_EQ(text(false), "False");
  EXPECT_EQ(text(Value{}), "None");
  EXPECT_EQ(text(Value(std::string("32nm"))), "32nm");
}

TEST(Value, ATextIsANumberOnlyAsAWhole) {
  EXPECT_EQ(number(Value(std::string("1.2e-09"))), 1.2e-9);
  EXPECT_EQ(number(Value(std::string(" 8 "))), 8);
  EXPECT_EQ(number(Value(std::string("+8"))), 8);
  EXPECT_FALSE(number(Value(std::string("32nm"))));
  EXPECT_FALSE(number(Value(std::string(""))));
  EXPECT_FALSE(number(Value(std::string("+-8"))));
  EXPECT_FALSE(number(Value(std::string("nan"))));
  EXPECT_FALSE(number(Value(std::string("inf"))));
  EXPECT_FALSE(number(Value(std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(number(Value{}));
  EXPECT_EQ(number(Value(true)), 1);
}

RC_GTEST_PROP(Value, TheTextOfAFloatReadsBackToTheSameFloat, (double value)) {
  RC_ASSERT(std::strtod(text(value).c_str(), nullptr) == value);
  RC_ASSERT(number(Value(text(value))) == value);
}

}  // namespace
}  // namespace orrery::energy
