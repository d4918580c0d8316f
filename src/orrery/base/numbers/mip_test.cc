#include "orrery/base/numbers/mip.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery::base {
namespace {

using Term = Mip::Term;

TEST(Mip, FillsAKnapsackBest) {
  // Values 10, 13, 7; weights 3, 4, 2; room 6: the second and the third.
  Mip mip;
  const double values[] = {10, 13, 7}, weights[] = {3, 4, 2};
  std::vector<Term> row;
  for (int i = 0; i < 3; ++i) row.push_back({mip.add_column(0, 1, -values[i], true), weights[i]});
  mip.add_row(row, -kInfinity, 6);
  testing::internal::CaptureStdout();
  const Mip::Solution found = mip.minimise();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_EQ(found.status, Mip::Status::kOptimal);
  EXPECT_NEAR(found.cost, -20, 1e-6);
  EXPECT_NEAR(found.bound, -20, 1e-6);
  EXPECT_NEAR(found.values[0], 0, 1e-6);
}

TEST(Mip, LeavesContinuousColumnsBetweenWholeNumbers) {
  Mip mip;
  const int x = mip.add_column(0, kInfinity, 1), y = mip.add_column(0, kInfinity, 1, true);
  mip.add_row(std::vector<Term>{{x, 1}, {y, 2}}, 3.5, kInfinity);
  const Mip::Solution found = mip.minimise();
  ASSERT_EQ(found.status, Mip::Status::kOptimal);
  EXPECT_NEAR(found.cost, 2, 1e-6);  // y = 2
}

TEST(Mip, SaysWhenThereIsNoSolution) {
  Mip mip;
  const int x = mip.add_column(0, 1, 1, true), y = mip.add_column(0, 1, 1, true);
  mip.add_row(std::vector<Term>{{x, 1}, {y, 1}}, 3, kInfinity);
  EXPECT_EQ(mip.minimise().status, Mip::Status::kInfeasible);
  Mip halves;
  const int z = halves.add_column(0, 5, 1, true);
  halves.add_row(std::vector<Term>{{z, 2}}, 3, 3);
  EXPECT_EQ(halves.minimise().status, Mip::Status::kInfeasible);
}

TEST(Mip, SaysWhenNothingIsBelowTheCutoff) {
  Mip mip;
  const int x = mip.add_column(0, 10, 1, true);
  mip.add_row(std::vector<Term>{{x, 1}}, 2.5, kInfinity);
  EXPECT_EQ(mip.minimise({.cutoff = 2.75}).status, Mip::Status::kInfeasible);
  EXPECT_EQ(mip.minimise({.cutoff = 3.25}).status, Mip::Status::kOptimal);
}

TEST(Mip, AddsUpTermsOfOneColumn) {
  Mip mip;
  const int x = mip.add_column(0, 10, 1);
  mip.add_row(std::vector<Term>{{x, 1}, {x, 1}}, 6, kInfinity);
  EXPECT_NEAR(mip.minimise().cost, 3, 1e-9);
}

TEST(Mip, EqualsEnumerationOnRandomProgrammes) {
  for (int seed = 0; seed < 60; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto roll = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const int columns = roll(2, 8), rows = roll(1, 4);
    std::vector<int> cost, factor;
    std::vector<double> room;
    Mip mip;
    for (int c = 0; c < columns; ++c) mip.add_column(0, 1, cost.emplace_back(roll(-9, 9)), true);
    for (int r = 0; r < rows; ++r) {
      std::vector<Term> row;
      for (int c = 0; c < columns; ++c) row.push_back({c, static_cast<double>(factor.emplace_back(roll(-5, 9)))});
      room.push_back(roll(-6, 12));
      mip.add_row(row, -kInfinity, room.back());
    }
    double best = kInfinity;
    for (int set = 0; set < 1 << columns; ++set) {
      double sum = 0;
      bool fits = true;
      for (int c = 0; c < columns; ++c) sum += (set >> c & 1) * cost[static_cast<std::size_t>(c)];
      for (int r = 0; r < rows; ++r) {
        double need = 0;
        for (int c = 0; c < columns; ++c) need += (set >> c & 1) * factor[static_cast<std::size_t>(r * columns + c)];
        fits = fits && need <= room[static_cast<std::size_t>(r)];
      }
      if (fits) best = std::min(best, sum);
    }
    const Mip::Solution found = mip.minimise();
    ASSERT_EQ(found.status == Mip::Status::kInfeasible, best == kInfinity) << seed;
    if (best < kInfinity) {
      ASSERT_NEAR(found.cost, best, 1e-6) << seed;
    }
  }
}

// Market split: infeasible, and known to take branch and bound long.
Mip market_split(int rows, int columns) {
  std::mt19937 random(7);
  Mip mip;
  for (int c = 0; c < columns; ++c) mip.add_column(0, 1, 0, true);
  for (int r = 0; r < rows; ++r) {
    std::vector<Term> row;
    int sum = 0;
    for (int c = 0; c < columns; ++c) {
      const int d = static_cast<int>(random() % 100);
      sum += d;
      row.push_back({c, static_cast<double>(d)});
    }
    const int over = mip.add_column(0, kInfinity, 1), under = mip.add_column(0, kInfinity, 1);
    row.push_back({over, -1});
    row.push_back({under, 1});
    mip.add_row(row, sum / 2, sum / 2);
  }
  return mip;
}

TEST(Mip, ATimeLimitYieldsABoundAndTheBestSoFar) {
  const Mip::Solution found = market_split(5, 50).minimise({.seconds = 0.3});
  ASSERT_EQ(found.status, Mip::Status::kStopped);
  EXPECT_GE(found.bound, -1e-6);
  if (!found.values.empty()) {
    EXPECT_LE(found.bound, found.cost + 1e-9);
  }
}

TEST(Mip, StopsWhenTold) {
  const std::atomic<bool> stop = true;
  EXPECT_EQ(market_split(5, 50).minimise({.seconds = 5, .stop = &stop}).status, Mip::Status::kStopped);
}

}  // namespace
}  // namespace orrery::base
