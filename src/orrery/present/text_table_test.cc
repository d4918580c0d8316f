#include "orrery/present/text_table.h"

#include <gtest/gtest.h>

namespace orrery::verbs {
namespace {

TEST(Table, AlignsTheFirstColumnLeftAndTheOthersRightByCharacters) {
  Table table;
  table.header = {"layer", "n"};
  table.rows = {{"ü", "1"}, {"b", "100"}};
  table.rules_before = {1};
  EXPECT_EQ(text(table), "layer    n\n----------\nü        1\n----------\nb      100\n");
}

}  // namespace
}  // namespace orrery::verbs
