#include "orrery/base/diagnostics/plausible.h"

#include <gtest/gtest.h>

namespace orrery::base {
namespace {

std::vector<Diagnostic> doubts(HardwareFigure figure, double value) {
  Diagnostics found;
  doubt(figure, value, "x", {}, found);
  return found.all();
}

TEST(Plausible, AFactorOfAThousandIsNamedWithWhatWasProbablyMeant) {
  const auto found = doubts(HardwareFigure::kMatrixPeak, 989e9);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "O1380");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].message, "`x` is 0.989 TFLOP/s");
  ASSERT_EQ(found[0].hints.size(), 1u);
  EXPECT_EQ(found[0].hints[0], "is it 989 TFLOP/s, 1000 times as much?");
}

TEST(Plausible, MegahertzAndHertzForGigahertzAreBothFound) {
  EXPECT_EQ(doubts(HardwareFigure::kClock, 1250e9).at(0).hints.at(0), "is it 1.25 GHz, 1000 times as little?");
  EXPECT_EQ(doubts(HardwareFigure::kClock, 1.25e18).at(0).hints.at(0), "is it 1.25 GHz, 1e9 times as little?");
}

TEST(Plausible, WhatThereIsAndWhatIsNotGivenPass) {
  EXPECT_TRUE(doubts(HardwareFigure::kMatrixPeak, 312e12).empty());
  EXPECT_TRUE(doubts(HardwareFigure::kVectorPeak, 15.7e12).empty());
  EXPECT_TRUE(doubts(HardwareFigure::kMemoryBandwidth, 100e9).empty());
  EXPECT_TRUE(doubts(HardwareFigure::kMemory, 1.1e12).empty());
  EXPECT_TRUE(doubts(HardwareFigure::kLatency, 0).empty());
  EXPECT_TRUE(doubts(HardwareFigure::kLinkBandwidth, 3.125e9).empty());
}

TEST(Plausible, UsualValuesInAUnitWrongByAThousandAreDoubted) {
  for (const double peak : {15.7e12, 125e12, 312e12, 989e12, 2500e12}) {
    EXPECT_FALSE(doubts(HardwareFigure::kMatrixPeak, peak / 1e3).empty()) << peak;
    EXPECT_EQ(doubts(HardwareFigure::kMatrixPeak, peak * 1e3).empty(), peak * 1e3 < 5e16) << peak;
  }
  for (const double memory : {16e9, 80e9, 192e9}) {
    EXPECT_FALSE(doubts(HardwareFigure::kMemory, memory / 1e3).empty());
    EXPECT_FALSE(doubts(HardwareFigure::kMemory, memory * 1e3).empty());
  }
  for (const double bandwidth : {900e9, 2039e9, 8e12}) {
    EXPECT_FALSE(doubts(HardwareFigure::kMemoryBandwidth, bandwidth / 1e3).empty());
    EXPECT_FALSE(doubts(HardwareFigure::kMemoryBandwidth, bandwidth * 1e3).empty());
  }
}

}  // namespace
}  // namespace orrery::base
