#include "orrery/base/limits/conflict.h"

#include <gtest/gtest.h>

namespace orrery::base {
namespace {

TEST(IrreducibleConflict, LeavesOutWhatIsNotNeeded) {
  // 1 and 3 exclude each other, and so do 0 and 2: of the two pairs the later one is named.
  const IrreducibleConflict found =
      irreducible_conflict(5, [](const ConditionSet& set) { return (set[1] && set[3]) || (set[0] && set[2]); });
  EXPECT_EQ(found.conditions, (ConditionSet{false, true, false, true, false}));
  EXPECT_TRUE(found.proven);
}

TEST(IrreducibleConflict, KeepsWhatItDoesNotKnow) {
  const IrreducibleConflict found = irreducible_conflict(3, [](const ConditionSet& set) -> std::optional<bool> {
    if (!set[1]) return std::nullopt;
    return set[2];
  });
  EXPECT_EQ(found.conditions, (ConditionSet{false, true, true}));
  EXPECT_FALSE(found.proven);
}

TEST(IrreducibleConflict, IsEmptyWhereNoConditionIsToBlame) {
  EXPECT_EQ(irreducible_conflict(2, [](const ConditionSet&) { return true; }).conditions, ConditionSet(2, false));
}

}  // namespace
}  // namespace orrery::base
