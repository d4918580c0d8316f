#include "orrery/base/diagnostics/diagnostic.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace orrery::base {
namespace {

std::vector<std::string> messages(const std::vector<Diagnostic>& found) {
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : found) out.push_back(diagnostic.message);
  return out;
}

TEST(ReadingOrder, MessagesOfAFileFollowItsLinesAndFilesTheirFirstMention) {
  const auto a = std::make_shared<SourceFile>(SourceFile{"a.yaml", ""});
  const auto b = std::make_shared<SourceFile>(SourceFile{"b.yaml", ""});
  Diagnostics found;
  found.error("O0101", "b 9", {b, 9, 1, 1});
  found.error("O0101", "nowhere");
  found.error("O0101", "a 7:2", {a, 7, 2, 1});
  found.error("O0101", "b 2", {b, 2, 5, 1});
  found.error("O0101", "a 7:1", {a, 7, 1, 1});
  found.error("O0101", "a 7:1 again", {a, 7, 1, 1});
  found.error("O0101", "a as a whole", {a, 0, 0, 1});
  EXPECT_EQ(messages(in_reading_order(found.all())),
            (std::vector<std::string>{"b 2", "b 9", "nowhere", "a as a whole", "a 7:1", "a 7:1 again", "a 7:2"}));
}

TEST(Hints, AnEmptyHintIsNone) {
  Diagnostics found;
  found.error("O0101", "odd").hint("").hint("do this");
  EXPECT_EQ(found.all()[0].hints, std::vector<std::string>{"do this"});
}

TEST(Collecting, WhatIsAddedKeepsItsSeverity) {
  Diagnostics others, found;
  others.warning("O0323", "odd");
  found.append(others);
  EXPECT_FALSE(found.has_errors());
  EXPECT_EQ(found.all()[0].severity, Severity::kWarning);
  others.error("O0101", "wrong", {nullptr, 3, 4, 1});
  EXPECT_EQ(found.add(others.all()[1]).primary.where.line, 3);
  EXPECT_TRUE(found.has_errors());
  EXPECT_THROW(found.throw_if_errors(), InputError);
}

}  // namespace
}  // namespace orrery::base
