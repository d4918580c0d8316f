#include "orrery/base/diagnostics/defect.h"

#include <gtest/gtest.h>

namespace orrery::base {
namespace {

using Names = std::vector<std::string>;

struct Switches {
  bool first = false, second = false, third = false;
  bool operator==(const Switches&) const = default;
};

constexpr Defect<Switches> kTable[] = {{"first", &Switches::first, "old", "one"},
                                       {"second", &Switches::second, "old older", "two"},
                                       {"third", &Switches::third, "older", "three"}};

TEST(Defect, AnOriginalIsTheSetOfItsDefects) {
  static_assert(defects_of(kTable, "old") == Switches{true, true, false});
  static_assert(defects_of(kTable, "older") == Switches{false, true, true});
  static_assert(defects_of(kTable, "new") == Switches{});
  EXPECT_EQ(original_names(kTable), (Names{"old", "older"}));
  EXPECT_EQ(defect_names(kTable), (Names{"first", "second", "third"}));
}

TEST(Defect, OriginalsAndSingleDefectsAddUp) {
  Reproduced<Switches> asked;
  EXPECT_TRUE(reproduce(kTable, "third", asked));
  EXPECT_EQ(present(kTable, asked.defects), Names{"third"});
  EXPECT_TRUE(reproduce(kTable, "older", asked));
  EXPECT_EQ(present(kTable, asked.defects), Names{"older"});
  EXPECT_TRUE(reproduce(kTable, "first", asked));
  EXPECT_TRUE(reproduce(kTable, "first", asked));
  EXPECT_FALSE(reproduce(kTable, "ol", asked));
  EXPECT_EQ(asked.names, (Names{"third", "older", "first"}));
  EXPECT_EQ(present(kTable, asked.defects), (Names{"first", "second", "third"}));
  *defect_named(kTable, asked.defects, "second") = false;
  EXPECT_EQ(defect_named(kTable, asked.defects, "fourth"), nullptr);
  EXPECT_EQ(asked.defects, (Switches{true, false, true}));
}

}  // namespace
}  // namespace orrery::base
