#include "orrery/present/error_json.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "orrery/base/version.h"
#include "orrery/present/schema_check_test_util.h"

namespace orrery::verbs {
namespace {

using nlohmann::json;

base::Location at(const std::string& text, int line, int column) {
  return {std::make_shared<const base::SourceFile>(base::SourceFile{"arch.yaml", text}), line, column, 1};
}

TEST(ErrorJson, SaysWhatWhereAndTheWayOut) {
  base::Diagnostics found;
  found.error("O0312", "no such thing", at("a: b\n", 1, 4))
      .also(at("a: b\n", 1, 1), "named here")
      .note("1 + 1 = 2")
      .hint("did you mean `c`?");
  const json document = checked(error_document(), found.all());
  EXPECT_EQ(document["schema"], "orrery.error/1");
  EXPECT_EQ(document["version"], base::kVersion);
  const json& entry = document["diagnostics"].at(0);
  EXPECT_EQ(entry["code"], "O0312");
  EXPECT_EQ(entry["severity"], "error");
  EXPECT_EQ(entry["message"], "no such thing");
  EXPECT_EQ(entry["file"], "arch.yaml");
  EXPECT_EQ(entry["line"], 1);
  EXPECT_EQ(entry["column"], 4);
  EXPECT_EQ(entry["related"].at(0)["text"], "named here");
  EXPECT_EQ(entry["notes"].at(0), "1 + 1 = 2");
  EXPECT_EQ(entry["hints"].at(0), "did you mean `c`?");
}

TEST(ErrorJson, ColumnsCountCharactersAsEditorsDo) {
  base::Diagnostics found;
  found.error("O0312", "x", at("\xc3\xa9\xc3\xa9: b\n", 1, 7));
  EXPECT_EQ(checked(error_document(), found.all())["diagnostics"].at(0)["column"], 5);
}

TEST(ErrorJson, WhatHasNoPlaceHasNull) {
  base::Diagnostics found;
  found.error("O1101", "no such option");
  found.warning("O0410", "a whole file", {at("a", 1, 1).file, 0, 0, 1});
  const json list = checked(error_document(), found.all())["diagnostics"];
  EXPECT_TRUE(list.at(0)["file"].is_null());
  EXPECT_TRUE(list.at(0)["line"].is_null());
  EXPECT_EQ(list.at(1)["file"], "arch.yaml");
  EXPECT_TRUE(list.at(1)["line"].is_null());
  EXPECT_EQ(list.at(1)["severity"], "warning");
}

TEST(ErrorJson, TheSameTwiceIsListedOnce) {
  base::Diagnostics found;
  found.error("O0312", "x");
  found.error("O0312", "x");
  found.error("O0312", "y");
  EXPECT_EQ(checked(error_document(), found.all())["diagnostics"].size(), 2u);
}

TEST(ErrorJson, BytesThatAreNoTextDoNotBreakTheDocument) {
  base::Diagnostics found;
  found.error("O0100", "`\xff\xfe` cannot be read");
  EXPECT_TRUE(json::accept(error_document().json(found.all())));
}

}  // namespace
}  // namespace orrery::verbs
