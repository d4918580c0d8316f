#include "orrery/base/diagnostics/once_each.h"

#include <gtest/gtest.h>

#include <memory>

namespace orrery::base {
namespace {

TEST(OnceEach, OneMessageOfManyPlacesShowsSomeAndCountsTheOthers) {
  const auto file = std::make_shared<SourceFile>(SourceFile{"a.yaml", ""});
  Diagnostics found;
  for (int line = 1; line <= 11; ++line) found.error("O2028", "`A` is not a dataspace", {file, line, 1, 1});
  found.error("O2028", "`B` is not a dataspace", {file, 20, 1, 1});
  const std::vector<Diagnostic> once = once_each(found.all());
  ASSERT_EQ(once.size(), 2u);
  EXPECT_EQ(once[0].primary.where.line, 1);
  ASSERT_EQ(once[0].secondary.size(), 3u);
  EXPECT_EQ(once[0].secondary[2].where.line, 4);
  EXPECT_EQ(once[0].notes.back(), "and at 7 more places");
  EXPECT_EQ(once[1].primary.where.line, 20);
}

TEST(OnceEach, MessagesThatDifferInAnythingButThePlaceStay) {
  const auto file = std::make_shared<SourceFile>(SourceFile{"a.yaml", ""});
  Diagnostics found;
  found.error("O0101", "odd", {file, 1, 1, 1}).hint("so");
  found.error("O0101", "odd", {file, 2, 1, 1}).hint("or so");
  found.error("O0102", "odd", {file, 3, 1, 1});
  found.warning("O0102", "odd", {file, 4, 1, 1});
  found.error("O0102", "odd", {file, 5, 1, 1}).label("given again here").also({file, 3, 1, 1}, "first given here");
  found.error("O0102", "odd");
  found.error("O0102", "odd");
  EXPECT_EQ(once_each(found.all()).size(), 7u);
}

}  // namespace
}  // namespace orrery::base
