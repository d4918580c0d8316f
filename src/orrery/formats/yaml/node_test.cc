#include "orrery/formats/yaml/node.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::yaml {
namespace {

using base::source;

Node parse_one(const std::string& text) {
  base::Diagnostics found;
  auto documents = parse(source(text), base::Severity::kError, found);
  found.throw_if_errors();
  EXPECT_EQ(documents.size(), 1u);
  return documents.empty() ? Node{} : documents.front();
}

std::string error_code(const std::string& text) {
  base::Diagnostics found;
  parse(source(text), base::Severity::kError, found);
  return found.all().empty() ? "" : found.all().front().code;
}

TEST(YamlNode, PlacesCountFromOneAndCoverTheScalar) {
  const Node node = parse_one("a: 1\nbig:\n  depth:   4096 # words\n");
  const Node* depth = node.find("big")->find("depth");
  EXPECT_EQ(depth->scalar, "4096");
  EXPECT_EQ(depth->where.line, 3);
  EXPECT_EQ(depth->where.column, 12);
  EXPECT_EQ(depth->where.length, 4);
  EXPECT_EQ(node.entries[1].key_where.line, 2);
  EXPECT_EQ(node.entries[1].key_where.length, 3);
}

TEST(YamlNode, QuotedScalarsSayThatTheyAreAndCoverTheirQuotes) {
  const Node node = parse_one("a: 'it''s' # x\nb: \"q\\\"\"\nc: plain\n");
  EXPECT_TRUE(node.find("a")->quoted);
  EXPECT_EQ(node.find("a")->scalar, "it's");
  EXPECT_EQ(node.find("a")->where.length, 7);
  EXPECT_EQ(node.find("b")->where.length, 5);
  EXPECT_FALSE(node.find("c")->quoted);
}

TEST(YamlNode, KeepsTags) {
  const Node node = parse_one("- !Container\n  name: a\n- !Component {name: b}\n- !Nothing\n");
  EXPECT_EQ(node.items[0].tag, "!Container");
  EXPECT_EQ(node.items[1].tag, "!Component");
  EXPECT_EQ(node.items[2].tag, "!Nothing");
}

TEST(YamlNode, HyphenAndUnderscoreAreOneLetterInKeys) {
  const Node node = parse_one("word-bits: 8\n");
  ASSERT_NE(node.find("word_bits"), nullptr);
  EXPECT_EQ(node.find("wordbits"), nullptr);
}

TEST(YamlNode, DeepMergesJoinMapsAndAddUpLists) {
  const Node node = parse_one(
      "base: &b {m: {x: 1, y: 2}, l: [3], n: [4], k: 5}\n"
      "other: &o {m: {z: 6}, l: [7]}\n"
      "deep: {<<<: *b, m: {y: 8}, l: [1], n: !nomerge [9]}\n"
      "both: {<<<: [*b, *o], l: [1]}\n"
      "flat: {<<: *b, m: {y: 8}}\n");
  const Node* deep = node.find("deep");
  EXPECT_EQ(deep->find("m")->find("x")->scalar, "1");
  EXPECT_EQ(deep->find("m")->find("y")->scalar, "8");
  EXPECT_EQ(deep->find("l")->items.size(), 2u);
  EXPECT_EQ(deep->find("l")->items.front().scalar, "1");
  EXPECT_EQ(deep->find("n")->items.size(), 1u);
  EXPECT_EQ(deep->find("n")->tag, "");
  EXPECT_EQ(deep->find("k")->scalar, "5");
  const Node* both = node.find("both");
  EXPECT_EQ(both->find("m")->find("z")->scalar, "6");
  ASSERT_EQ(both->find("l")->items.size(), 3u);
  EXPECT_EQ(both->find("l")->items.back().scalar, "7");
  EXPECT_EQ(node.find("flat")->find("m")->find("x"), nullptr);
}

TEST(YamlNode, AliasesAreCopiesAndMergedKeysGiveWay) {
  const Node node = parse_one("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nlist: [*b]\n");
  EXPECT_EQ(node.find("more")->find("x")->scalar, "1");
  EXPECT_EQ(node.find("more")->find("y")->scalar, "3");
  EXPECT_EQ(node.find("list")->items[0].find("y")->scalar, "2");
}

TEST(YamlNode, ScalarBehindAnAnchorKeepsItsOwnPlace) {
  const Node node = parse_one("a: &x 16\nb: *x\n");
  EXPECT_EQ(node.find("a")->where.column, 7);
  EXPECT_EQ(node.find("b")->scalar, "16");
}

TEST(YamlNode, DuplicateKeysShowBothPlacesAndTheLastCounts) {
  base::Diagnostics found;
  const auto documents = parse(source("a: 1\nb: 2\na: 3\n"), base::Severity::kWarning, found);
  ASSERT_EQ(found.all().size(), 1u);
  const auto& diagnostic = found.all().front();
  EXPECT_EQ(diagnostic.code, "O0102");
  EXPECT_EQ(diagnostic.primary.where.line, 3);
  EXPECT_EQ(diagnostic.secondary.at(0).where.line, 1);
  EXPECT_FALSE(found.has_errors());
  EXPECT_EQ(documents[0].find("a")->scalar, "3");
  EXPECT_EQ(error_code("word-bits: 1\nword_bits: 2\n"), "O0102");
}

TEST(YamlNode, ReadsSeveralDocumentsOfOneFile) {
  base::Diagnostics found;
  EXPECT_EQ(parse(source("a: 1\n---\nb: 2\n"), base::Severity::kError, found).size(), 2u);
  EXPECT_TRUE(parse(source(""), base::Severity::kError, found).empty());
  EXPECT_TRUE(parse(source("# nothing\n"), base::Severity::kError, found).empty());
  EXPECT_TRUE(found.all().empty());
}

TEST(YamlNode, SyntaxErrorsHaveAPlace) {
  base::Diagnostics found;
  parse(source("a: 1\n b: [1, 2\n"), base::Severity::kError, found);
  ASSERT_EQ(found.all().size(), 1u);
  EXPECT_EQ(found.all()[0].code, "O0101");
  EXPECT_GE(found.all()[0].primary.where.line, 1);
}

TEST(YamlNode, BytesThatAreNoTextAreRefused) {
  EXPECT_EQ(error_code(std::string("a: \0b\n", 6)), "O0101");
  EXPECT_EQ(error_code("a: \xff\xfe\n"), "O0101");
  EXPECT_EQ(error_code("a: \xc3"), "O0101");
  EXPECT_EQ(error_code("a: \x04 b"), "O0101");
  EXPECT_EQ(error_code("a: h\xc3\xb6he"), "");
}

TEST(YamlNode, DepthIsBoundedHoweverItIsReached) {
  EXPECT_EQ(error_code(std::string(100000, '[')), "O0101");
  EXPECT_EQ(error_code(std::string(150, '[') + std::string(150, ']')), "");
  std::string chain = "a0: &a0 [1]\n";
  for (int i = 1; i < 400; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_EQ(error_code(chain), "O0101");
}

TEST(YamlNode, AliasesThatMultiplyAreStopped) {
  std::string laughs = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) laughs += (k ? ", " : "") + last;
    laughs += "]\n";
  }
  EXPECT_EQ(error_code(laughs), "O0101");
}

TEST(YamlNode, AnAliasInsideItsOwnValueIsAnError) {
  EXPECT_EQ(error_code("a: &a [*a]\n"), "O0101");
  EXPECT_EQ(error_code("a: *nothing\n"), "O0101");
}

TEST(YamlNode, StrayCommasAndBracketsEndTheParse) {
  for (const char* text : {",\\", "a: 1\n---\n,", "]", "}", ": ]", "a: 1\n]"})
    EXPECT_EQ(error_code(text), "O0101") << text;
  EXPECT_EQ(error_code("---\n---\n...\n---\na: 1\n"), "");
}

TEST(YamlNode, KeysMustBeWords) {
  EXPECT_EQ(error_code("? [a, b]\n: 1\n"), "O0101");
}

TEST(YamlNode, EndlessFilesEnd) {
  EXPECT_EQ(error_code(std::string(9 << 20, ' ')), "O0103");
}

TEST(YamlNode, ValuesAreOfAModestSize) {
  EXPECT_EQ(error_code("a: " + std::string(60'000, 'x')), "");
  EXPECT_EQ(error_code("a: " + std::string(70'000, 'x')), "O0101");
}

TEST(YamlNode, ThousandsOfDuplicateKeysAreOneError) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "a: 1\n";
  base::Diagnostics found;
  parse(source(text), base::Severity::kWarning, found);
  EXPECT_TRUE(found.has_errors());
  EXPECT_LT(found.all().size(), 200u);
}

}  // namespace
}  // namespace orrery::formats::yaml
