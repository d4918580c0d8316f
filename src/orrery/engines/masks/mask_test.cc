#include "orrery/engines/masks/mask.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery::masks {
namespace {

Mask random_mask(const MaskShape& shape, std::mt19937_64& random) {
  Mask mask(shape);
  for (Count b = 0; b < shape.batch; ++b)
    for (Count h = 0; h < shape.heads; ++h)
      for (Count r = 0; r < shape.rows; ++r)
        for (Count c = 0; c < shape.columns; ++c)
          if (random() % 3 == 0) mask.keep(b, h, r, c);
  return mask;
}

TEST(Mask, SurvivesBytesAndPackedBitsAtEveryWidth) {
  std::mt19937_64 random(1);
  for (const Count columns : {1, 7, 8, 9, 63, 64, 65, 127, 128, 130}) {
    const MaskShape shape{2, 3, 5, columns};
    const Mask mask = random_mask(shape, random);
    EXPECT_EQ(mask_of_bytes(shape, bytes_of(mask).data()), mask);
    std::vector<std::uint8_t> packed = packed_of(mask);
    EXPECT_EQ(mask_of_packed(shape, packed.data()), mask);
    const Count width = base::ceil_divide(columns, 8);
    EXPECT_EQ(static_cast<Count>(packed.size()), 2 * 3 * 5 * width);
    if (columns % 8 != 0)  // bits that no column has are not looked at
      for (std::size_t i = 0; i < packed.size(); ++i)
        if (static_cast<Count>(i) % width == width - 1) packed[i] |= static_cast<std::uint8_t>(0xff << (columns % 8));
    EXPECT_EQ(mask_of_packed(shape, packed.data()), mask);
  }
}

TEST(Mask, PackedBitJOfByteIIsColumn8IPlusJ) {
  Mask mask({1, 1, 1, 20});
  mask.keep(0, 0, 0, 11);
  EXPECT_EQ(packed_of(mask), (std::vector<std::uint8_t>{0, 8, 0}));
}

TEST(Mask, CountsAndVisitsWhatIsKept) {
  std::mt19937_64 random(2);
  const Mask mask = random_mask({1, 2, 9, 150}, random);
  Count total = 0;
  for (Count h = 0; h < 2; ++h)
    for (Count r = 0; r < 9; ++r) {
      Count count = 0, before = -1;
      mask.for_each_kept(0, h, r, [&](Count c) {
        EXPECT_GT(c, before);
        EXPECT_TRUE(mask.kept(0, h, r, c));
        before = c;
        ++count;
      });
      EXPECT_EQ(count, mask.kept_in_row(0, h, r));
      total += count;
    }
  EXPECT_EQ(total, mask.kept());
}

TEST(InsideValid, LeavesPairsOfTokensThatAreThereUpToTheDiagonal) {
  std::mt19937_64 random(3);
  for (const Count columns : {70, 100}) {
    Mask mask = random_mask({2, 2, 70, columns}, random);
    mask.valid_rows.resize(2 * 70);
    mask.valid_columns.resize(static_cast<std::size_t>(2 * columns));
    for (std::uint8_t& valid : mask.valid_rows) valid = random() % 4 != 0;
    for (std::uint8_t& valid : mask.valid_columns) valid = random() % 4 != 0;
    mask.causal = columns == 70;
    const Mask inside = inside_valid(mask);
    Count pairs = 0;
    for (Count b = 0; b < 2; ++b)
      for (Count h = 0; h < 2; ++h)
        for (Count r = 0; r < 70; ++r)
          for (Count c = 0; c < columns; ++c) {
            const bool there = mask.row_valid(b, r) && mask.column_valid(b, c) && (!mask.causal || c <= r);
            pairs += there;
            ASSERT_EQ(inside.kept(b, h, r, c), there && mask.kept(b, h, r, c));
          }
    EXPECT_EQ(mask.valid_pairs(), pairs);
  }
}

}  // namespace
}  // namespace orrery::masks
