#include "orrery/engines/masks/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::masks {
namespace {

constexpr MeasureDefects kSanger = base::defects_of(kMeasureDefects, "sanger");

Mask rows_of(const std::vector<Count>& kept, Count columns = 64) {
  Mask mask({1, 1, static_cast<Count>(kept.size()), columns});
  for (std::size_t r = 0; r < kept.size(); ++r)
    for (Count c = 0; c < kept[r]; ++c) mask.keep(0, 0, static_cast<Count>(r), c);
  return mask;
}

TEST(LoadBalance, IsKeptPairsOverSlotsOfTheArray) {
  const Measured m = measure(rows_of({10, 17, 0, 64}));
  EXPECT_DOUBLE_EQ(m.density, 91.0 / 256);
  EXPECT_DOUBLE_EQ(m.load_balance[1], 91.0 / (32 * (1 + 1 + 2)));
  EXPECT_DOUBLE_EQ(m.load_balance[3], 91.0 / (16 * (1 + 2 + 4)));
  EXPECT_DOUBLE_EQ(m.load_balance[0], 91.0 / (32 * (1 + 1 + 2 + 1)));
  EXPECT_DOUBLE_EQ(m.load_balance[2], 91.0 / (16 * (1 + 2 + 4 + 1)));
  EXPECT_EQ(m.vectors, 4);
  EXPECT_EQ(m.empty_vectors, 1);
}

TEST(LoadBalance, AsSangerLogsItAddsASlotForVectorsThatKeepSomething) {
  const Measured m = measure(rows_of(std::vector<Count>(64, 17)), kSanger);
  EXPECT_FLOAT_EQ(static_cast<float>(m.load_balance[0]), 17.0F / 64);
  EXPECT_FLOAT_EQ(static_cast<float>(m.load_balance[2]), 17.0F / 48);
}

TEST(Figures, OfAMaskThatKeepsNothingAreZeroAndSangersAreNan) {
  const Mask mask = rows_of(std::vector<Count>(64, 0));
  const Measured m = measure(mask), theirs = measure(mask, kSanger);
  EXPECT_EQ(m.density, 0);
  for (const double balance : m.load_balance) EXPECT_EQ(balance, 0);
  for (const double balance : theirs.load_balance) EXPECT_TRUE(std::isnan(balance));
}

TEST(Figures, LeaveOutPaddingAndWhatLiesBeyondTheDiagonal) {
  Mask mask({2, 1, 64, 64});
  for (Count b = 0; b < 2; ++b)
    for (Count r = 0; r < 64; ++r)
      for (Count c = 0; c < 64; ++c) mask.keep(b, 0, r, c);
  mask.valid_rows.assign(128, 1);
  std::fill(mask.valid_rows.begin() + 16, mask.valid_rows.begin() + 64, 0);
  mask.valid_columns = mask.valid_rows;
  Measured m = measure(mask);
  EXPECT_EQ(m.pairs, 16 * 16 + 64 * 64);
  EXPECT_EQ(m.density, 1);
  EXPECT_EQ(m.kept_outside, 64 * 64 - 16 * 16);
  EXPECT_EQ(m.vectors, 16 + 64);
  EXPECT_DOUBLE_EQ(m.load_balance[1], (16.0 * 16 + 64 * 64) / (32 * (16 * 1 + 64 * 2)));
  mask.causal = true;
  m = measure(mask);
  EXPECT_EQ(m.pairs, 16 * 17 / 2 + 64 * 65 / 2);
  EXPECT_EQ(m.density, 1);
  EXPECT_EQ(measure(mask, kSanger).pairs, 16 * 16 + 64 * 64);
}

TEST(Figures, OfSequencesOfDifferentLengthsWeighEachSequenceOnceInOverallSparsity) {
  Mask mask({2, 1, 64, 64});
  mask.valid_rows.assign(128, 1);
  std::fill(mask.valid_rows.begin() + 1, mask.valid_rows.begin() + 64, 0);
  mask.valid_columns = mask.valid_rows;
  mask.keep(0, 0, 0, 0);
  const Measured m = measure(mask);
  EXPECT_DOUBLE_EQ(m.overall_sparsity, 0.5);
  EXPECT_DOUBLE_EQ(m.density, 1.0 / (1 + 64 * 64));
}

TEST(Figures, TakeLengthsThatAreNoMultipleOf64WhichSangerRefuses) {
  const Mask mask = rows_of({3, 70}, 70);
  EXPECT_EQ(measure(mask).vectors, 4);
  EXPECT_EQ(measure(mask).empty_vectors, 1);
  try {
    measure(mask, kSanger);
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.diagnostics.front().code, "O1817");
  }
}

TEST(Figures, CountRowsThatLostEverythingAsIdleWhereSangerDoes) {
  std::vector<Count> rows(64, 5);
  rows[3] = 64;  // computed densely
  const Measured ours = measure(rows_of(rows), {}, {3}), theirs = measure(rows_of(rows), kSanger, {3});
  EXPECT_EQ(ours.kept, 63 * 5 + 64);
  EXPECT_EQ(theirs.kept, 63 * 5);
}

// A bit at a time: what a head keeps of the pairs that are there.
TEST(Figures, OfHeadsAreThoseOfTheirPairsAndSumToTheWhole) {
  Mask mask({2, 3, 70, 90});
  mask.causal = true;
  mask.valid_columns.assign(2 * 90, 1);
  for (Count c = 60; c < 90; ++c) mask.valid_columns[static_cast<std::size_t>(90 + c)] = 0;
  std::vector<HeadPairs> expected(3);
  for (Count b = 0; b < 2; ++b)
    for (Count h = 0; h < 3; ++h)
      for (Count r = 0; r < 70; ++r)
        for (Count c = 0; c < 90; ++c) {
          const bool keeps = (7 * r + 3 * c + b) % (2 + 3 * h) == 0;
          if (keeps) mask.keep(b, h, r, c);
          const bool there = c <= r + 20 && (b == 0 || c < 60);
          expected[static_cast<std::size_t>(h)].pairs += there ? 1 : 0;
          expected[static_cast<std::size_t>(h)].kept += there && keeps ? 1 : 0;
        }
  const Measured m = measure(mask);
  EXPECT_EQ(m.heads, expected);
  Count kept = 0, pairs = 0;
  for (const HeadPairs& head : m.heads) kept += head.kept, pairs += head.pairs;
  EXPECT_EQ(kept, m.kept);
  EXPECT_EQ(pairs, m.pairs);
  const Measured twice = mean_of({m, m});
  for (std::size_t h = 0; h < 3; ++h) EXPECT_EQ(twice.heads[h].kept, 2 * m.heads[h].kept);
}

TEST(Mean, OfSeveralMasksIsThatOfTheirFigures) {
  const Measured a = measure(rows_of({64, 64})), b = measure(rows_of({0, 32}));
  const Measured mean = mean_of({a, b});
  EXPECT_DOUBLE_EQ(mean.density, (1 + 0.25) / 2);
  EXPECT_EQ(mean.kept, 160);
}

}  // namespace
}  // namespace orrery::masks
