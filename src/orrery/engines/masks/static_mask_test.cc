#include "orrery/engines/masks/static_mask.h"

#include <gtest/gtest.h>

#include "orrery/engines/masks/measure.h"

namespace orrery::masks {
namespace {

Pattern of(PatternKind kind) {
  Pattern pattern;
  pattern.kind = kind;
  return pattern;
}

double density(const Mask& mask) {
  return static_cast<double>(mask.kept()) / static_cast<double>(mask.heads() * mask.rows() * mask.columns());
}

std::vector<std::string> codes(const Pattern& pattern, Count tokens, Count heads = 1) {
  base::Diagnostics found;
  check(pattern, tokens, heads, {}, found);
  std::vector<std::string> out;
  for (const base::Diagnostic& one : found.all()) out.push_back(one.code);
  return out;
}
using Codes = std::vector<std::string>;

TEST(StaticMask, HasThePublishedDensities) {
  EXPECT_EQ(density(static_mask(of(PatternKind::kDense), 128, 2, 0)), 1);
  EXPECT_EQ(density(static_mask(of(PatternKind::kFixed), 128, 2, 0)), 0.625);
  EXPECT_EQ(density(static_mask(of(PatternKind::kFixed), 512, 2, 0)), 0.34375);
  EXPECT_EQ(density(static_mask(of(PatternKind::kLongformer), 128, 2, 0)), 0.53125);
  EXPECT_EQ(density(static_mask(of(PatternKind::kLongformer), 512, 2, 0)), 0.150390625);
  EXPECT_NEAR(density(static_mask(of(PatternKind::kBigBird), 512, 12, 7)), 0.176, 0.004);
  EXPECT_EQ(density(static_mask(of(PatternKind::kBlockStructured), 512, 2, 0)), 0.125);
}

TEST(StaticMask, OfRandomBlocksIsTheSameForASeedAndHeadsDiffer) {
  const Mask a = static_mask(of(PatternKind::kBigBird), 512, 2, 7);
  EXPECT_EQ(a, static_mask(of(PatternKind::kBigBird), 512, 2, 7));
  EXPECT_NE(a, static_mask(of(PatternKind::kBigBird), 512, 2, 8));
  bool differ = false;
  for (Count r = 0; r < 512; ++r)
    for (Count w = 0; w < 8; ++w) differ = differ || a.row(0, 0, r)[w] != a.row(0, 1, r)[w];
  EXPECT_TRUE(differ);
  Pattern structured = of(PatternKind::kBlockStructured);
  const Mask one = static_mask(structured, 128, 2, 1);
  EXPECT_TRUE(std::equal(one.row(0, 0, 0), one.row(0, 0, 0) + 256, one.row(0, 1, 0)));
  structured.per_head = true;
  const Mask two = static_mask(structured, 128, 2, 1);
  EXPECT_FALSE(std::equal(two.row(0, 0, 0), two.row(0, 0, 0) + 256, two.row(0, 1, 0)));
}

TEST(StaticMask, OfBigBirdHasItsWindowItsGlobalBlocksAndOneRandomBlockAtMostBeside) {
  const Mask mask = static_mask(of(PatternKind::kBigBird), 512, 3, 3);
  for (Count h = 0; h < 3; ++h)
    for (Count r = 1; r < 32; ++r) {
      Count beside = 0;
      for (Count c = 1; c < 32; ++c) {
        const bool kept = mask.kept(0, h, r * 16 + 5, c * 16 + 3);
        if (std::abs(r - c) <= 1)
          EXPECT_TRUE(kept);
        else
          beside += kept;
      }
      EXPECT_LE(beside, 1);
      EXPECT_TRUE(mask.kept(0, h, r * 16, 0));
      EXPECT_TRUE(mask.kept(0, h, 0, r * 16));
    }
}

TEST(StaticMask, OfBlockStructureHas32RowsOf32Among64ColumnsInEachBlock) {
  const Mask mask = static_mask(of(PatternKind::kBlockStructured), 256, 1, 5);
  for (Count top = 0; top < 256; top += 64)
    for (Count left = 0; left < 256; left += 128) {
      Count rows = 0, columns = 0;
      for (Count r = top; r < top + 64; ++r) {
        Count kept = 0;
        for (Count c = left; c < left + 128; ++c) kept += mask.kept(0, 0, r, c);
        EXPECT_TRUE(kept == 0 || kept == 32);
        rows += kept > 0;
      }
      for (Count c = left; c < left + 128; ++c) {
        bool used = false;
        for (Count r = top; r < top + 64; ++r) used = used || mask.kept(0, 0, r, c);
        columns += used;
      }
      EXPECT_EQ(rows, 32);
      EXPECT_LE(columns, 64);
    }
}

TEST(StaticMask, OfASlidingWindowSeesItselfAndThoseJustBefore) {
  Pattern pattern = of(PatternKind::kSliding);
  pattern.window = 3;
  const Mask mask = static_mask(pattern, 70, 1, 0);
  EXPECT_TRUE(mask.causal);
  for (Count r = 0; r < 70; ++r)
    for (Count c = 0; c < 70; ++c) ASSERT_EQ(mask.kept(0, 0, r, c), c <= r && r - c < 3);
}

TEST(StaticMask, OfFixedWindowsFollowsTheirDirectionAndPatterns) {
  Pattern pattern = of(PatternKind::kFixed);
  pattern.unidirectional = true;
  Mask mask = static_mask(pattern, 128, 1, 0);
  for (Count r = 0; r < 8; ++r)
    for (Count c = 0; c < 8; ++c)
      ASSERT_EQ(mask.kept(0, 0, r * 16, c * 16), (r / 4 == c / 4 && c <= r) || (c % 4 == 3 && r >= c)) << r << " " << c;
  pattern = of(PatternKind::kFixed);
  pattern.different_global_patterns = 4;
  pattern.per_head = true;
  mask = static_mask(pattern, 128, 4, 0);
  for (Count h = 0; h < 4; ++h)
    for (Count c = 0; c < 4; ++c) EXPECT_EQ(mask.kept(0, h, 127, c * 16), c == 3 - h);
  pattern.horizontal = true;
  mask = static_mask(pattern, 128, 1, 0);
  EXPECT_EQ(mask.kept_in_row(0, 0, 3 * 16), 128);
}

// Ten tokens in the last window's place: the global block is the last that there is.
TEST(StaticMask, OfAnIncompleteLastWindowHasItsGlobalBlockWithin) {
  const Mask mask = static_mask(of(PatternKind::kFixed), 96, 1, 0);
  EXPECT_TRUE(mask.kept(0, 0, 0, 5 * 16));
  EXPECT_FALSE(mask.kept(0, 0, 0, 4 * 16));
}

TEST(Check, NamesEveryContradiction) {
  EXPECT_EQ(codes(of(PatternKind::kLongformer), 512), Codes{});
  EXPECT_EQ(codes(of(PatternKind::kLongformer), 100), Codes{"O1809"});
  Pattern p = of(PatternKind::kLongformer);
  p.window_blocks = 9;
  p.global_ranges = {{0, 1}, {8, 9}, {2, 2}};
  EXPECT_EQ(codes(p, 128), (Codes{"O1810", "O1810", "O1811"}));
  p = of(PatternKind::kFixed);
  p.global_blocks = 3;
  EXPECT_EQ(codes(p, 128), Codes{"O1811"});
  p = of(PatternKind::kFixed);
  p.horizontal = p.unidirectional = true;
  EXPECT_EQ(codes(p, 128), Codes{"O1812"});
  p = of(PatternKind::kFixed);
  p.different_global_patterns = 5;
  p.per_head = true;
  EXPECT_EQ(codes(p, 128), Codes{"O1811"});
  p.different_global_patterns = 2;
  p.per_head = false;
  EXPECT_EQ(codes(p, 128), Codes{"O1811"});
  p = of(PatternKind::kBigBird);
  p.random_blocks = 9;
  EXPECT_EQ(codes(p, 128), Codes{"O1810"});
  p = of(PatternKind::kBlockStructured);
  EXPECT_EQ(codes(p, 96), (Codes{"O1809", "O1809"}));
  p.array_rows = 65;
  p.array_columns = 65;
  EXPECT_EQ(codes(p, 128), (Codes{"O1811", "O1811"}));
  EXPECT_EQ(codes(of(PatternKind::kDense), 128, 0), Codes{"O1811"});
}

}  // namespace
}  // namespace orrery::masks
