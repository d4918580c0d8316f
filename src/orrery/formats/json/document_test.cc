#include "orrery/formats/json/json_document.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::json {
namespace {

using base::source;

base::Diagnostic refused(std::string text) {
  return base::refused([&] { parse(source(std::move(text)), "O1320", "a hint"); }).at(0);
}

TEST(JsonDocument, EveryPartKnowsItsPlace) {
  const Node root = parse(source("{\"a\": [1, {\"b\": \"x\\\"}\"}],\n \"c\" : -2.5e3 }"), "O1320");
  ASSERT_EQ(root.members.size(), 2u);
  const Node& list = root.members[0].value;
  EXPECT_EQ(list.where.column, 7);
  EXPECT_EQ(list.items.at(0).where.column, 8);
  const Member& b = list.items.at(1).members.at(0);
  EXPECT_EQ(b.key_where.column, 12);
  EXPECT_EQ(b.value.text, "x\"}");
  EXPECT_EQ(b.value.where.length, 6);
  EXPECT_EQ(root.members[1].value.where.line, 2);
  EXPECT_EQ(root.members[1].value.where.column, 8);
  EXPECT_EQ(root.members[1].value.number, -2500);
  EXPECT_EQ(root.members[1].value.text, "-2.5e3");
}

TEST(JsonDocument, OfRepeatedKeysTheLastCountsAndBothAreKnown) {
  const Node root = parse(source(R"({"a": 1, "b": 2, "a": 3})"), "O1320");
  EXPECT_EQ(root.find("a")->value.number, 3);
  ASSERT_EQ(repeated(root).size(), 1u);
  EXPECT_EQ(repeated(root)[0].first->value.number, 1);
}

TEST(JsonDocument, ErrorsPoint) {
  const base::Diagnostic comma = refused("{\"a\": 1,\n}");
  EXPECT_EQ(comma.code, "O1320");
  EXPECT_EQ(comma.primary.where.line, 2);
  EXPECT_EQ(comma.hints.at(0), "a hint");
  const base::Diagnostic huge = refused("{\"a\":\n 1e999}");
  EXPECT_EQ(huge.primary.where.line, 2);
  EXPECT_NE(huge.message.find("1e999"), std::string::npos) << huge.message;
}

TEST(JsonDocument, WhatPythonWritesForDoublesThatAreNoNumbersIsATextInItsPlace) {
  const std::string text = R"({"a": [0.0, Infinity,-Infinity], "Infinity": "NaN", "b" :NaN, "c\"": 7})";
  EXPECT_EQ(refused(text).code, "O1320");
  const Node root = parse_pythons(source(text), "O1320");
  const Node& list = root.members.at(0).value;
  EXPECT_EQ(list.items.at(0).number, 0);
  EXPECT_TRUE(list.items.at(1).is_text());
  EXPECT_EQ(list.items.at(1).text, "Infinity");
  EXPECT_EQ(list.items.at(1).where.column, 13);
  EXPECT_EQ(list.items.at(2).text, "-Infinity");
  EXPECT_EQ(root.find("Infinity")->value.text, "NaN");
  EXPECT_EQ(root.find("b")->value.text, "NaN");
  EXPECT_EQ(root.find("c\"")->value.number, 7);
  for (const char* bad :
       {"{\"a\": Infinite}", "{\"a\": NaN1}", "{\"a\": InfinityNaN}", "{\"a\": +Infinity}", "{\"a", "\"\\"})
    EXPECT_EQ(base::refused([&] { parse_pythons(source(bad), "O1320"); }).at(0).code, "O1320") << bad;
}

TEST(JsonDocument, DeepNestingIsRefusedNotRecursedInto) {
  EXPECT_NE(refused(std::string(100000, '[')).message.find("deeper"), std::string::npos);
}

TEST(JsonDocument, DamagedTextsAreRefusedOrReadButNeverCrash) {
  EXPECT_TRUE(rc::check([] {
    std::string text = R"({"a": [1, {"b": "x\"}"}], "c": null, "d": {"e": true, "f": 1e3}})";
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i)
      text.insert(static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(text.size()))), 1,
                  *rc::gen::elementOf(std::string("{}[]\",:0\\-n\n")));
    try {
      parse(source(text), "O1320");
    } catch (const base::InputError& error) {
      RC_ASSERT(error.diagnostics.size() == 1u);
    }
  }));
}

}  // namespace
}  // namespace orrery::formats::json
