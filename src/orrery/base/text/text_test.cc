#include "orrery/base/text/text.h"
#include "orrery/base/text/shell_words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::base {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Text, ChangesTheCaseOfLettersOfAsciiAlone) {
  EXPECT_EQ(lower("QKV_3 \xc3\x84"), "qkv_3 \xc3\x84");
  EXPECT_EQ(upper("ln1{\xc3\xa4}"), "LN1{\xc3\xa4}");
  EXPECT_TRUE(same_letters("UncompRESSED", "uncompressed"));
  EXPECT_FALSE(same_letters("@", "`"));  // 32 apart, as letters are
  EXPECT_FALSE(same_letters("ab", "abc"));
}

TEST(Text, TrimsBothEndsOnly) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\t a", " "), "\t a");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

RC_GTEST_PROP(Text, PartsJoinedAgainAreTheText, ()) {
  const std::string text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', ','));
  RC_ASSERT(fmt::format("{}", fmt::join(split(text, ','), ",")) == text);
}

TEST(Text, ANumberIsTheWholeTextOrNone) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
  for (const char* none : {"", " 1", "1 ", "+1", "1x", "x"}) EXPECT_FALSE(parse_number<int>(none)) << none;
  EXPECT_FALSE(parse_number<std::int64_t>("9223372036854775808"));
  EXPECT_FALSE(parse_number<unsigned>("-1"));
  EXPECT_FALSE(parse_number<int>("1.5"));
  EXPECT_FALSE(parse_number<double>("1e999"));
}

TEST(Text, ANumberOutsideItsBoundsIsNone) {
  EXPECT_EQ(parse_number<int>("3", 3, 3), 3);
  EXPECT_FALSE(parse_number<int>("2", 3, 9));
  EXPECT_FALSE(parse_number<int>("10", 3, 9));
  EXPECT_FALSE(parse_number<double>("nan", 0, std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(parse_number<double>("inf"));
  EXPECT_FALSE(parse_finite("inf"));
  EXPECT_FALSE(parse_finite("nan"));
  EXPECT_EQ(parse_finite("0.25"), 0.25);
}

TEST(Text, JoinsWhateverHasATextAsFmtDoes) {
  EXPECT_EQ(joined(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(joined(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(joined(std::set<std::string>{"b", "a"}, "`, `"), "a`, `b");
  EXPECT_EQ(joined(std::vector<std::string_view>{"a"}, ", "), "a");
  EXPECT_EQ(joined(std::string("ab"), " "), "a b");
  for (const std::vector<double>& figures : {std::vector<double>{0.5, 2, 1e-9}, {1e22}, {}})
    EXPECT_EQ(joined(figures, " x "), fmt::format("{}", fmt::join(figures, " x ")));
}

TEST(Text, OneIsNoPlural) {
  EXPECT_EQ(counted(0, "layer"), "0 layers");
  EXPECT_EQ(counted(1u, "layer"), "1 layer");
  EXPECT_EQ(counted(std::int64_t{1} << 40, "layer"), "1099511627776 layers");
  EXPECT_STREQ(plural(1, "is", "are"), "is");
  EXPECT_STREQ(plural(2, "is", "are"), "are");
}

TEST(ShellWords, AreQuotedOnlyWhereAShellNeedsIt) {
  EXPECT_EQ(shell_words({"map", "--gemm", "8,8,8", "--set", "a.b=1.0e-9"}), "map --gemm 8,8,8 --set a.b=1.0e-9");
  EXPECT_EQ(shell_words({"", "my own.html", "it's", "$HOME", "a;b", "µ"}),
            "'' 'my own.html' 'it'\\''s' '$HOME' 'a;b' 'µ'");
  EXPECT_EQ(shell_words({"two\nlines"}), "'two\nlines'");
}

TEST(ShellWords, OfControlCharactersAndBytesThatAreNoUtf8AreWrittenByNumber) {
  EXPECT_EQ(shell_words({"a\033[1m'\\"}), "$'a\\033[1m\\'\\\\'");
  EXPECT_EQ(shell_words({"\xff.yaml"}), "$'\\377.yaml'");
}

}  // namespace
}  // namespace orrery::base
