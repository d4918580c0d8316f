#include "orrery/base/text/field.h"

#include <gtest/gtest.h>

namespace orrery::base {
namespace {

enum class Colour { kRed, kGreen, kBlue };

struct Thing {
  Count size = 2;
  int stage = 0;
  double share = 0.5;
  bool on = true;
  Colour colour = Colour::kGreen;
};

Fields fields(Thing& thing) {
  static const std::vector<std::pair<std::string, Colour>> colours = {
      {"red", Colour::kRed}, {"green", Colour::kGreen}, {"blue", Colour::kBlue}};
  return {whole_field("size", thing.size, 1, kUnbounded, "how large"), whole_field("stage", thing.stage, 0, 3, "which"),
          share_field("a.share", thing.share, "of it"), truth_field("on", thing.on, "or off"),
          choice_field("colour", thing.colour, colours, "of the thing")};
}

TEST(Field, TakesTheValuesOfItsKind) {
  Thing thing;
  const Fields all = fields(thing);
  const auto set = [&](const char* path, const char* value) { return find_field(all, path)->set(value); };
  for (const auto& [path, value] : std::initializer_list<std::pair<const char*, const char*>>{{"size", "0"},
                                                                                              {"size", "1e3"},
                                                                                              {"size", ""},
                                                                                              {"stage", "4"},
                                                                                              {"stage", "-1"},
                                                                                              {"a.share", "1.1"},
                                                                                              {"a.share", "nan"},
                                                                                              {"on", "yes"},
                                                                                              {"colour", "pink"}})
    EXPECT_FALSE(set(path, value)) << path << " = " << value;
  EXPECT_EQ(thing.size, 2);
  EXPECT_TRUE(set("size", "1000") && set("stage", "3") && set("a.share", "1") && set("on", "false") &&
              set("colour", "blue"));
  EXPECT_EQ(thing.size, 1000);
  EXPECT_EQ(thing.stage, 3);
  EXPECT_EQ(thing.share, 1);
  EXPECT_FALSE(thing.on);
  EXPECT_EQ(thing.colour, Colour::kBlue);
}

TEST(Field, TellsItsValue) {
  Thing thing;
  const Fields all = fields(thing);
  const auto get = [&](const char* path) { return find_field(all, path)->get(); };
  EXPECT_EQ(get("size"), FieldValue(Count{2}));
  EXPECT_EQ(get("a.share"), FieldValue(0.5));
  EXPECT_EQ(get("on"), FieldValue(true));
  EXPECT_EQ(get("colour"), FieldValue(std::string("green")));
}

TEST(Field, WhatIsNotThereIsPointedAt) {
  Thing thing;
  const Override set{"colur", "red"};
  const OverrideText shown(set, "thing.");
  EXPECT_EQ(shown.file()->text, "thing.colur=red");
  EXPECT_EQ(shown.value().column, 13);
  Diagnostics found;
  EXPECT_EQ(asked_field(fields(thing), set, shown, "O1371", "a thing", found), nullptr);
  const Diagnostic& error = found.all().front();
  EXPECT_EQ(error.message, "a thing has no field `colur`");
  EXPECT_EQ(error.primary.where.column, 7);
  EXPECT_EQ(error.primary.where.length, 5);
  EXPECT_EQ(error.notes.front(), "it has: size, stage, a.share, on, colour");
  EXPECT_EQ(error.hints.front(), "did you mean `colour`?");
}

TEST(Field, AreListedInATable) {
  Thing thing;
  EXPECT_NE(field_table(fields(thing), "thing.").find("| `thing.stage` | a whole number from 0 to 3 | which |\n"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::base
