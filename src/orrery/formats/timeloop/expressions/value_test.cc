#include "orrery/formats/timeloop/expressions/expression_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;

// One scope from YAML text, and scalars evaluated in it.
class Fixture {
 public:
  explicit Fixture(const std::string& variables = "{}") {
    const auto file = base::source("v: " + variables + "\n", "v.yaml");
    documents_ = yaml::parse(file, base::Severity::kError, found);
    scope.define_all(*documents_.at(0).find("v"));
  }
  yaml::Node node(const std::string& text) {
    const auto file = base::source("x: " + text + "\n", "x.yaml");
    return *yaml::parse(file, base::Severity::kError, found).at(0).find("x");
  }
  std::optional<Value> value(const std::string& text) { return evaluate(keep(node(text)), scope, found); }
  std::optional<Count> count(const std::string& text, const std::string& what = "depth") {
    return as_count(keep(node(text)), scope, what, found);
  }
  std::optional<double> number(const std::string& text) { return as_number(keep(node(text)), scope, "energy", found); }
  std::string codes() {
    std::string all;
    for (const auto& diagnostic : found.all()) all += (all.empty() ? "" : " ") + diagnostic.code;
    return all;
  }

  Scope scope;
  base::Diagnostics found;

 private:
  const yaml::Node& keep(yaml::Node node) { return *kept_.emplace_back(std::make_unique<yaml::Node>(std::move(node))); }

  std::vector<yaml::Node> documents_;
  std::vector<std::unique_ptr<yaml::Node>> kept_;
};

Value value(const std::string& text, const std::string& variables = "{}") {
  Fixture fixture(variables);
  const auto result = fixture.value(text);
  EXPECT_EQ(fixture.codes(), "") << text;
  return result.value_or(Value{std::string("(none)")});
}

std::string count_code(const std::string& text, const std::string& variables = "{}") {
  Fixture fixture(variables);
  EXPECT_FALSE(fixture.count(text).has_value()) << text;
  return fixture.codes();
}

TEST(Value, ArithmeticIsPythons) {
  EXPECT_EQ(value("7 // 2"), Value{Count{3}});
  EXPECT_EQ(value("-7 // 2"), Value{Count{-4}});
  EXPECT_EQ(value("-7 % 3"), Value{Count{2}});
  EXPECT_EQ(value("7 % -3"), Value{Count{-2}});
  EXPECT_EQ(value("7 / 2"), Value{3.5});
  EXPECT_EQ(value("2 ** 3 ** 2"), Value{Count{512}});
  EXPECT_EQ(value("-2 ** 2"), Value{Count{-4}});
  EXPECT_EQ(value("2 ** -1"), Value{0.5});
  EXPECT_EQ(value("24*2**20"), Value{Count{25165824}});
  EXPECT_EQ(value("(1 + 2) * 3 - -4"), Value{Count{13}});
  EXPECT_EQ(value("1 if 2 < 3 <= 3 else 0"), Value{Count{1}});
  EXPECT_EQ(value("1 if 2 < 3 < 3 else 0"), Value{Count{0}});
  EXPECT_EQ(value("0 or 5 and 6"), Value{Count{6}});
  EXPECT_EQ(value("not 0"), Value{true});
  EXPECT_EQ(value("max(1, ceil(log2(1000)))"), Value{Count{10}});
  EXPECT_EQ(value("round(2.5) + round(3.5)"), Value{Count{6}});
  EXPECT_EQ(value("int(3.9) + floor(-0.5) + abs(-2)"), Value{Count{4}});
  EXPECT_EQ(value("min(4, 2.5)"), Value{2.5});
  EXPECT_EQ(value("7.5 // 2"), Value{3.0});
  EXPECT_EQ(value("0x10 + 0b11 + 1_000"), Value{Count{1019}});
  EXPECT_EQ(value("1.2e-9"), Value{1.2e-9});
}

TEST(Value, OnlyTheBranchTakenIsEvaluated) {
  EXPECT_EQ(value("1/ZERO if ZERO else 9", "{ZERO: 0}"), Value{Count{9}});
  EXPECT_EQ(value("ZERO and 1/ZERO", "{ZERO: 0}"), Value{Count{0}});
}

TEST(Value, TextsThatAreNoExpressionsStayTexts) {
  for (const char* text : {"LPDDR4", "32nm", "1ns", "must_specify", "itrs-lstp", "1:N", "a/b.csv", "e", "0.4.1"}) {
    EXPECT_EQ(value(text), Value{std::string(text)});
  }
  EXPECT_EQ(value("'16'"), Value{Count{16}});
  EXPECT_EQ(value("True"), Value{true});
  EXPECT_EQ(value("null"), Value{});
}

TEST(Value, VariablesMayBeExpressionsOfEachOther) {
  EXPECT_EQ(value("C", "{A: 4, B: A * 2, C: B + A}"), Value{Count{12}});
}

TEST(Value, InnerNamesWinAndMayUseTheOuterOnesOfTheSameName) {
  Fixture outer("{W: 8, D: 2}");
  Fixture own("{W: W * D}");
  Scope inner(&outer.scope);
  const yaml::Node text = own.node("W * D");
  inner.define("W", &text);
  base::Diagnostics found;
  EXPECT_EQ(inner.lookup("W", found), Value{Count{16}});
  EXPECT_EQ(as_count(text, inner, "W", found), 16);  // its own text, read where it stands
  EXPECT_TRUE(found.all().empty());
}

TEST(Value, NamesThatAreNoIdentifiersAreFoundWithAWarning) {
  Fixture fixture("{EMBEDDING//HEADS: 64, EMBEDDING*3: 3072}");
  EXPECT_EQ(fixture.count("EMBEDDING_HEADS"), 64);
  EXPECT_EQ(fixture.count("EMBEDDING_HEADS * 2"), 128);
  EXPECT_EQ(fixture.count("EMBEDDING_3"), 3072);
  EXPECT_EQ(fixture.codes(), "O0205 O0205");
}

TEST(Value, CyclesShowTheirMembers) {
  Fixture fixture("{A: B + 1, B: C, C: A}");
  EXPECT_FALSE(fixture.count("A").has_value());
  ASSERT_EQ(fixture.codes(), "O0203");
  EXPECT_EQ(fixture.found.all()[0].notes.at(0), "A -> B -> C -> A");
  EXPECT_EQ(count_code("A", "{A: A + 1}"), "O0203");
}

TEST(Value, WholeNumbersNeverRoundSilently) {
  EXPECT_EQ(count_code("9223372036854775807 + 1"), "O0207");
  EXPECT_EQ(count_code("2 ** 64"), "O0207");
  EXPECT_EQ(count_code("-(-9223372036854775807 - 1)"), "O0207");
  EXPECT_EQ(count_code("(-9223372036854775807 - 1) // -1"), "O0207");
  EXPECT_EQ(count_code("99999999999999999999"), "O0207");
  EXPECT_EQ(count_code("10.0 ** 400"), "O0207");
  Fixture fixture;
  EXPECT_EQ(fixture.count("9223372036854775807"), std::numeric_limits<Count>::max());
  EXPECT_EQ(fixture.count("1024 / 16"), 64);
}

TEST(Value, MistakesHaveTheirCodes) {
  EXPECT_EQ(count_code("(16"), "O0200");
  EXPECT_EQ(count_code("16 +"), "O0200");
  EXPECT_EQ(count_code("SIZ * 2", "{SIZE: 4}"), "O0201");
  EXPECT_EQ(count_code("SIZ", "{SIZE: 4}"), "O0201");
  EXPECT_EQ(count_code("ciel(2.5)"), "O0202");
  EXPECT_EQ(count_code("ceil(2.5, 3)"), "O0202");
  EXPECT_EQ(count_code("T * 2", "{T: LPDDR4}"), "O0204");
  EXPECT_EQ(count_code("1 // 0"), "O0206");
  EXPECT_EQ(count_code("1 % 0"), "O0206");
  EXPECT_EQ(count_code("log(0)"), "O0206");
  EXPECT_EQ(count_code("sqrt(-1)"), "O0206");
  EXPECT_EQ(count_code("0 ** -1"), "O0206");
  EXPECT_EQ(count_code(std::string(100, '(') + "1" + std::string(100, ')')), "O0208");
  EXPECT_EQ(count_code("'LPDDR4 x'"), "O0210");
  EXPECT_EQ(count_code("[1]"), "O0210");
  EXPECT_EQ(count_code("true"), "O0210");
  EXPECT_EQ(count_code("16.5"), "O0211");
  EXPECT_EQ(count_code("inf"), "O0211");
}

TEST(Value, AnUnknownNameIsPointedAtAndCorrected) {
  Fixture fixture("{EMBEDDING: 4}");
  EXPECT_FALSE(fixture.count("2 * EMBEDING").has_value());
  const auto& diagnostic = fixture.found.all().at(0);
  EXPECT_EQ(diagnostic.primary.where.column, 8);
  EXPECT_EQ(diagnostic.primary.where.length, 8);
  EXPECT_EQ(diagnostic.hints.at(0), "did you mean `EMBEDDING`?");
}

TEST(Value, UnitsAreShownInBothReadings) {
  Fixture fixture;
  EXPECT_FALSE(fixture.count("512KB", "entries").has_value());
  ASSERT_EQ(fixture.codes(), "O0212");
  const auto& diagnostic = fixture.found.all()[0];
  ASSERT_EQ(diagnostic.notes.size(), 2u);
  EXPECT_NE(diagnostic.notes[0].find("512000"), std::string::npos);
  EXPECT_NE(diagnostic.notes[1].find("524288"), std::string::npos);
  EXPECT_NE(diagnostic.hints.at(0).find("words"), std::string::npos);
  for (const char* text : {"16 GB/s", "128b", "1ns", "4 KiB", "3 words/cycle", "2M"}) {
    EXPECT_EQ(count_code(text), "O0212") << text;
  }
}

TEST(Value, LongChainsAndGrowingTextsAreBounded) {
  std::string chain = "{A0: 1";
  for (int i = 1; i < 200; ++i) chain += ", A" + std::to_string(i) + ": A" + std::to_string(i - 1) + " + 1";
  EXPECT_EQ(count_code("A199", chain + "}"), "O0208");
  std::string doubling = "{A0: 1";
  for (int i = 1; i < 60; ++i) {
    const std::string last = "A" + std::to_string(i - 1);
    doubling += ", A" + std::to_string(i) + ": " + last + " + " + last;
  }
  Fixture fixture(doubling + "}");
  EXPECT_EQ(fixture.count("A59"), Count{1} << 59);
}

TEST(Value, NumbersMayBeInfiniteButNeverNaN) {
  Fixture fixture;
  EXPECT_EQ(fixture.number(".inf"), HUGE_VAL);
  EXPECT_EQ(fixture.number("1/4"), 0.25);
  EXPECT_FALSE(fixture.number(".nan").has_value());
  EXPECT_FALSE(fixture.number("inf - inf").has_value());
  EXPECT_EQ(fixture.codes(), "O0210 O0206");
}

TEST(Value, TruthIsSpelledInManyWays) {
  Fixture fixture;
  for (const char* text : {"True", "true", "yes", "1", "'true'", "2 > 1"}) {
    EXPECT_EQ(as_bool(fixture.node(text), fixture.scope, "enabled", fixture.found), true) << text;
  }
  EXPECT_EQ(as_bool(fixture.node("False"), fixture.scope, "enabled", fixture.found), false);
  EXPECT_FALSE(as_bool(fixture.node("maybe"), fixture.scope, "enabled", fixture.found).has_value());
  EXPECT_EQ(fixture.codes(), "O0210");
}

}  // namespace
}  // namespace orrery::formats::timeloop
