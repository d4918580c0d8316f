#include "orrery/present/alike.h"

#include <gtest/gtest.h>

#include <memory>

namespace orrery::verbs {
namespace {

using base::Diagnostics;
using base::Location;

const auto kFile = std::make_shared<const base::SourceFile>(base::SourceFile{"setup.txt", std::string(200, '\n')});

Diagnostics sizes_of(int kernels) {
  Diagnostics found;
  for (int i = 0; i < kernels; ++i)
    found.warning("O1420", "`size` of kernel `k" + std::to_string(i) + "` is " + std::to_string(7 * i) + ", not 4",
                  Location{kFile, 10 + i, 3, 1});
  return found;
}

TEST(FoldAlike, EighteenWarningsThatDifferInNamesAndNumbersBecomeOneThatCountsTheOthers) {
  const auto folded = fold_alike(sizes_of(18).all());
  ASSERT_EQ(folded.size(), 1u);
  EXPECT_EQ(folded[0].primary.where.line, 10);
  ASSERT_EQ(folded[0].notes.size(), 1u);
  EXPECT_EQ(folded[0].notes[0],
            "and 17 more like it: `k1` in line 11, `k2` in line 12, `k3` in line 13, `k4` in line 14, `k5` in line 15, "
            "`k6` in line 16, ...; `--json` lists all");
}

TEST(FoldAlike, ThreeAlikeStayAsTheyAre) {
  EXPECT_EQ(fold_alike(sizes_of(3).all()).size(), 3u);
}

TEST(FoldAlike, OtherSentencesOtherCodesAndErrorsStay) {
  Diagnostics found = sizes_of(5);
  for (int i = 0; i < 5; ++i) found.error("O1420", "`size` of kernel `k` is 1, not 4", Location{kFile, 50 + i, 1, 1});
  found.warning("O1420", "`size` of kernel `k` is large", Location{kFile, 90, 1, 1});
  found.warning("O1421", "`size` of kernel `k9` is 1, not 4", Location{kFile, 91, 1, 1});
  EXPECT_EQ(fold_alike(found.all()).size(), 1u + 5u + 2u);
}

TEST(FoldAlike, WhatIsSaidTwiceIsShownOnce) {
  Diagnostics found = sizes_of(2);
  found.append(sizes_of(2));
  EXPECT_EQ(fold_alike(found.all()).size(), 2u);
}

}  // namespace
}  // namespace orrery::verbs
