#include "orrery/formats/libconfig/libconfig_document.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace orrery::formats::libconfig {
namespace {

struct Read {
  std::optional<yaml::Node> document;
  base::Diagnostics found;
};

Read read(const std::string& text) {
  auto file = std::make_shared<base::SourceFile>();
  file->name = "a.cfg";
  file->text = text;
  Read out;
  out.document = parse(file, out.found);
  return out;
}

yaml::Node accepted(const std::string& text) {
  const Read out = read(text);
  EXPECT_TRUE(out.document) << text;
  return out.document.value_or(yaml::Node());
}

TEST(Libconfig, AByteOrderMarkChangesNothing) {
  const yaml::Node plain = accepted("a = 1;"), marked = accepted(
                                                   "\xEF\xBB\xBF"
                                                   "a = 1;");
  ASSERT_EQ(marked.entries.size(), 1u);
  EXPECT_EQ(marked.entries[0].key, "a");
  EXPECT_EQ(marked.entries[0].key_where.column, plain.entries[0].key_where.column);
}

const yaml::Node& at(const yaml::Node& node, const char* key) {
  const yaml::Node* value = node.find(key);
  EXPECT_NE(value, nullptr) << key;
  return *value;
}

TEST(Libconfig, GroupsListsArraysAndScalarsAreNodes) {
  const yaml::Node top = accepted(
      "arch : { storage = ( { name = \"A\" \"B\"; deep = [1, 2]; }, { } ); };\n"
      "on = True; off = FALSE; x = 1.5e3; empty = ( ); e = [ ]");
  const yaml::Node& storage = at(at(top, "arch"), "storage");
  ASSERT_TRUE(storage.is_sequence());
  ASSERT_EQ(storage.items.size(), 2u);
  EXPECT_EQ(at(storage.items[0], "name").scalar, "AB");
  EXPECT_TRUE(at(storage.items[0], "name").quoted);
  EXPECT_EQ(at(storage.items[0], "deep").items.at(1).scalar, "2");
  EXPECT_TRUE(storage.items[1].is_map());
  EXPECT_EQ(at(top, "on").scalar, "true");
  EXPECT_EQ(at(top, "off").scalar, "false");
  EXPECT_EQ(at(top, "x").scalar, "1.5e3");
  EXPECT_TRUE(at(top, "empty").items.empty());
}

TEST(Libconfig, HyphensInNamesAreUnderscores) {
  EXPECT_EQ(at(accepted("word-bits = 8;"), "word_bits").scalar, "8");
}

// libconfig itself keeps 32 bits of a number without `L`, and says nothing.
TEST(Libconfig, NumbersKeepAllTheirDigits) {
  const yaml::Node top =
      accepted("a = 5000000000; b = 7L; c = 0x10; d = +3; e = 007; f = -12; g = 99999999999999999999;");
  EXPECT_EQ(at(top, "a").scalar, "5000000000");
  EXPECT_EQ(at(top, "b").scalar, "7");
  EXPECT_EQ(at(top, "c").scalar, "16");
  EXPECT_EQ(at(top, "d").scalar, "3");
  EXPECT_EQ(at(top, "e").scalar, "7");
  EXPECT_EQ(at(top, "f").scalar, "-12");
  EXPECT_EQ(at(top, "g").scalar, "99999999999999999999");
}

TEST(Libconfig, EveryValueHasItsPlace) {
  const yaml::Node top = accepted("# first\n/* a\n b */ a = 1; // x\n  bc : { d = \"ä\"; e = (2,\n 3); };\n");
  EXPECT_EQ(top.entries.at(0).key_where.line, 3);
  EXPECT_EQ(top.entries.at(0).key_where.column, 7);
  EXPECT_EQ(top.entries.at(0).value.where.column, 11);
  const yaml::Node& group = at(top, "bc");
  EXPECT_EQ(group.where.line, 4);
  EXPECT_EQ(at(group, "d").where.column, 14);
  EXPECT_EQ(at(group, "d").where.length, 3);
  EXPECT_EQ(group.entries.at(1).key_where.column, 19);
  EXPECT_EQ(at(group, "e").items.at(1).where.line, 5);
  EXPECT_EQ(at(group, "e").items.at(1).where.column, 2);
}

TEST(Libconfig, WhatIsNoLibconfigIsAnErrorAtItsLine) {
  for (const char* text : {"a = ;", "a = 1; a = 2;", "a = (1, 2", "{", "a = [1, \"x\"];", "a: 1\nb: 2\nc:\n", "a = \"x",
                           "/* no end", "a = 5x = 3;", "% = 3;", "a = 1 2;"}) {
    const Read out = read(text);
    EXPECT_FALSE(out.document) << text;
    ASSERT_EQ(out.found.all().size(), 1u) << text;
    EXPECT_EQ(out.found.all()[0].code, "O0101");
  }
  EXPECT_EQ(read("a = 1;\nb = 1 2;\n").found.all().at(0).primary.where.line, 2);
}

TEST(Libconfig, NothingIsIncluded) {
  for (const char* text :
       {"@include \"/etc/hostname\"\n", "a = 1;\n  @include \"x\"\n", "# @include \"x\"", "a = \"@include\";"}) {
    const Read out = read(text);
    EXPECT_FALSE(out.document) << text;
    EXPECT_NE(out.found.all().at(0).message.find("@include"), std::string::npos);
  }
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Libconfig, LargeAndDeepTextsEndInTime) {
  std::string names;
  for (int i = 0; i < 100'000; ++i) names += "n" + std::to_string(i) + "=1;";
  const std::clock_t start = std::clock();  // of this process: others may keep the machine busy
  EXPECT_FALSE(read(names).document);
  EXPECT_FALSE(read("a = " + repeated("(", 100'000) + repeated(")", 100'000) + ";").document);
  EXPECT_FALSE(read(repeated(" ", 2 << 20)).document);
  EXPECT_FALSE(read("a = " + repeated("{ a = ", 300) + "1;" + repeated("};", 300)).document);
  EXPECT_TRUE(read("a = (" + repeated("1,", 200'000) + "1);").document);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 2.0);
}

}  // namespace
}  // namespace orrery::formats::libconfig
