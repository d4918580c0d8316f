#include "orrery/formats/timeloop/templates/render.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::timeloop::jinja {
namespace {

class NoFiles : public Surroundings {
 public:
  TemplateValue call(std::string_view, const TemplateArguments&, const base::Location&, const Variables&) override {
    return {};
  }
  std::vector<std::string> functions() const override { return {}; }
};

PlacedText rendered(const std::string& text, const Variables& variables = {}) {
  auto file = std::make_shared<base::SourceFile>(base::SourceFile{"t.jinja", text});
  NoFiles around;
  Budget budget;
  budget.allow(text.size());
  const Template parsed = parse_template(file);
  return render(parsed, variables, around, budget);
}

std::string text(const std::string& source, const Variables& variables = {}) {
  return rendered(source, variables).text();
}

base::Diagnostic refusal(const std::string& source) {
  return base::refused([&] { rendered(source); }).at(0);
}

// Expected texts are what Jinja 3.1 renders.
TEST(Template, ExpressionsAreThoseOfJinja) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{{ 1 + 2 * 3 }}", "7"},
      {"{{ 7 // 2 }} {{ 7 / 2 }} {{ 7 % 4 }} {{ 2 ** 10 }}", "3 3.5 3 1024"},
      {"{{ -7 // 2 }} {{ -7 % 3 }}", "-4 2"},
      {"{{ 1e-9 }} {{ 2.0 }} {{ 0.1 }}", "1e-09 2.0 0.1"},
      {"{{ 'a' ~ 1 ~ 'b' }}", "a1b"},
      {"{{ 'x' + 'y' }}", "xy"},
      {"{{ [1, 'a', 2.5] }}", "[1, 'a', 2.5]"},
      {"{{ (1, 2)|length }} {{ {'a': 1}.a }} {{ {'a': 1}['a'] }}", "2 1 1"},
      {"{{ 'yes' if 2 > 1 else 'no' }}{{ 'gone' if false }}", "yes"},
      {"{{ 1 < 2 and not 3 in [1, 2] }} {{ 1 not in [2] }}", "True True"},
      {"{{ none }} {{ true }} {{ False }}", "None True False"},
      {"{{ missing|default('d') }} {{ missing is defined }} {{ 1 is number }}", "d False True"},
      {"{{ ''|default('e', true) }}", "e"},
      {"{{ 'Ab c'|upper }} {{ 'Ab c'|lower }} {{ 'ab c'|title }} {{ 'ab C'|capitalize }}", "AB C ab c Ab C Ab c"},
      {"{{ [3, 1, 2]|sort|join('-') }} {{ [1, 2]|sum }} {{ [4, 9]|max }} {{ [4, 9]|first }}", "1-2-3 3 9 4"},
      {"{{ '12'|int + 1 }} {{ 'x'|int(5) }} {{ '1.5'|float }} {{ 3.7|int }}", "13 5 1.5 3"},
      {"{{ 2.5|round }} {{ 2.25|round(1) }} {{ -3|abs }}", "2.0 2.2 3"},
      {"{{ 'a,b'.split(',')|length }} {{ 'abc'.replace('b', 'x') }} {{ ' a '|trim }}", "2 axc a"},
      {"{{ range(3)|list }} {{ range(5, 1, -2)|list }}", "[0, 1, 2] [5, 3]"},
      {"{{ [1, 2, 3][-1] }} {{ 'abc'[0] }}", "3 a"},
      {"{{ 6 is divisibleby(3) }} {{ 3 is odd }} {{ 3 is not even }}", "True True True"},
      {"{{ 'a' 'b' }}", "ab"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(text(source), expected) << source;
}

TEST(Template, StatementsAreThoseOfJinja) {
  EXPECT_EQ(text("{% set a = 2 %}{% if a == 1 %}one{% elif a == 2 %}two{% else %}more{% endif %}"), "two");
  EXPECT_EQ(text("{% for x in [1, 2] %}{{ loop.index }}{{ '.' if not loop.last }}{% else %}none{% endfor %}"), "1.2");
  EXPECT_EQ(text("{% for x in [] %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(text("{% for x in range(6) if x is even %}{{ x }}{% endfor %}"), "024");
  EXPECT_EQ(text("{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}"), "a1b2");
  EXPECT_EQ(text("{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, b=3) }}"), "1213");
  EXPECT_EQ(text("{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}"), "1");
  EXPECT_EQ(text("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}"), "4");
  EXPECT_EQ(text("{% set t %}a{{ 1 }}{% endset %}{{ t }}"), "a1");
  EXPECT_EQ(text("{% raw %}{{ x }}{% endraw %}{# gone #}"), "{{ x }}");
  EXPECT_EQ(text("a\n  {%- if true -%}\n  b\n{%- endif -%}\n c\n"), "abc");
  EXPECT_EQ(text("a\n"), "a");
  EXPECT_EQ(text("{{ n }}", {{"n", TemplateValue::number(3)}}), "3");
}

TEST(Template, EveryCharacterKnowsWhereItStood) {
  const PlacedText made = rendered("a: 1\n{% for i in range(2) %}\nb{{ i }}: {{ i }}x\n{% endfor %}c: 2\n");
  EXPECT_EQ(made.text(), "a: 1\n\nb0: 0x\n\nb1: 1x\nc: 2");
  EXPECT_EQ(made.origin(1, 1).line, 1);
  const base::Location second = made.origin(5, 1);  // the `b` of the second round
  EXPECT_EQ(second.line, 3);
  EXPECT_EQ(second.column, 1);
  const base::Location expression = made.origin(5, 5);
  EXPECT_EQ(expression.line, 3);
  EXPECT_EQ(expression.column, 11);
  EXPECT_EQ(made.origin(6, 4).line, 4);
  EXPECT_EQ(made.origin(6, 4).column, 16);
}

TEST(Template, WhatItCannotRenderIsRefusedWithItsPlace) {
  struct Case {
    const char* source;
    int line, column;
    const char* says;
  };
  for (const Case& one : {
           Case{"a\n{{ x }}", 2, 1, "`x` has no value"},
           Case{"{{ x + 1 }}", 1, 4, "`x` has no value"},
           Case{"{% extends 'a' %}", 1, 4, "`extends`: this Jinja statement"},
           Case{"{{ f(1) }}", 1, 4, "no function `f`"},
           Case{"{{ 1|frobnicate }}", 1, 6, "`frobnicate` is not a known filter"},
           Case{"{{ 1 is odder }}", 1, 9, "`odder` is not a known test"},
           Case{"{{ 1", 1, 1, "never closed"},
           Case{"{% if 1 %}", 1, 4, "`if` is never closed"},
           Case{"{% endif %}", 1, 4, "without what it belongs to"},
           Case{"{{ 1 / 0 }}", 1, 6, "divides by zero"},
           Case{"{{ 9223372036854775807 + 1 }}", 1, 24, "64 bits"},
           Case{"{{ [1][:1] }}", 1, 8, "cannot stand here"},
           Case{"{{ (1 }}", 1, 1, "never closed"},
           Case{"{{ 'a }}", 1, 1, "never closed"},
           Case{"{{ 1 ? 2 }}", 1, 6, "is not a sign"},
           Case{"{% for a, b in [1] %}{% endfor %}", 1, 4, "nothing to go through"},
       }) {
    const base::Diagnostic error = refusal(one.source);
    EXPECT_EQ(error.code, "O0113") << one.source;
    EXPECT_EQ(error.primary.where.line, one.line) << one.source;
    EXPECT_EQ(error.primary.where.column, one.column) << one.source;
    EXPECT_NE(error.message.find(one.says), std::string::npos) << error.message;
  }
}

// Each takes less than a tenth of a second of a processor; ten times that leaves room for a debug build.
TEST(Template, WhatTakesTooMuchIsRefusedSoon) {
  for (const std::string source : {
           "{% for i in range(1000000) %}x{% endfor %}",
           "{% for i in range(5000) %}{% for j in range(5000) %}{% endfor %}{% endfor %}",
           "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
           "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
           "{% set n = namespace(t='xxxxxxxx') %}{% for i in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}",
           "{% for a in range(7999) %}{{ 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' }}{% endfor %}",
           "{{ range(5000)|join('xxxxxxxxxxxxxxxxxxxxxxxxxxxx') }}",
           "{% for i in range(3000) %}{{ range(5000)|list|sort|length }}{% endfor %}",
           "{% for i in range(5000) %}{{ range(1000)|list|unique|length }}{% endfor %}",
       }) {
    const std::clock_t begin = std::clock();
    const base::Diagnostic error = refusal(source);
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0) << source;
    EXPECT_TRUE(error.code == "O2026" || error.code == "O0113") << error.message;
  }
}

TEST(Template, DeepNestingIsRefusedAndDoesNotExhaustTheStack) {
  for (const char* nest : {"(", "[", "-", "not ", "{'a': "}) {
    std::string source = "{{ ";
    for (int i = 0; i < 100000; ++i) source += nest;
    EXPECT_EQ(refusal(source + "1 }}").code, "O0113") << nest;
  }
  std::string ifs;
  for (int i = 0; i < 10000; ++i) ifs += "{% if 1 %}";
  EXPECT_EQ(refusal(ifs).code, "O0113");
  const auto lists = [](const char* grow) {
    return fmt::format("{{% set a = [1] %}}{{% set b = {0} %}}{{% set a = {0} %}}", grow);
  };
  std::string doubling = "{% set a = [1] %}";
  for (int i = 0; i < 100; ++i) doubling += "{% set a = [a, a] %}";
  EXPECT_EQ(refusal(doubling).code, "O0113");
  EXPECT_NO_THROW(rendered(lists("[a]")));
}

}  // namespace
}  // namespace orrery::formats::timeloop::jinja
