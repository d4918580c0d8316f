#include "orrery/runtime/network/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::network {
namespace {

TEST(Metrics, OfTwoClassesByHand) {
  // tp 2, fp 1, fn 1, tn 2
  const std::vector<std::int32_t> truth{1, 1, 1, 0, 0, 0}, said{1, 1, 0, 1, 0, 0};
  EXPECT_DOUBLE_EQ(accuracy(truth, said), 4.0 / 6);
  EXPECT_DOUBLE_EQ(f1(truth, said, 2), 4.0 / 6);
  EXPECT_DOUBLE_EQ(matthews(truth, said, 2), (2.0 * 2 - 1 * 1) / 9);
  EXPECT_EQ(matthews(truth, std::vector<std::int32_t>(6, 1), 2), 0) << "a constant answer tells nothing";
}

TEST(Metrics, OfThreeClassesFOneIsTheMeanOverClasses) {
  const std::vector<std::int32_t> truth{0, 1, 2, 2}, said{0, 2, 2, 2};
  EXPECT_DOUBLE_EQ(f1(truth, said, 3), (1 + 0 + 0.8) / 3);
}

TEST(Metrics, CorrelationsAreOneForLinesAndRanksForMonotoneCurves) {
  const std::vector<double> a{1, 2, 3, 4}, b{3, 5, 7, 9}, c{1, 10, 100, 1000};
  EXPECT_DOUBLE_EQ(pearson(a, b), 1);
  EXPECT_LT(pearson(a, c), 0.9);
  EXPECT_DOUBLE_EQ(spearman(a, c), 1);
  EXPECT_TRUE(std::isnan(pearson(a, {2, 2, 2, 2})));
  // Equal values share a rank: 1.5, 1.5, 3 against 1, 2, 3.
  EXPECT_DOUBLE_EQ(spearman({5, 5, 8}, {1, 2, 3}), 1.5 / std::sqrt(1.5 * 2));
}

TEST(Metrics, AnswersInWordsAreComparedAsSquadDoes) {
  EXPECT_TRUE(exact_match("The  Eiffel Tower.", "eiffel tower"));
  EXPECT_DOUBLE_EQ(word_f1("the cat sat", "a cat sat down"), 2 * 2.0 / 5);
  EXPECT_DOUBLE_EQ(word_f1("", "the"), 1) << "no word on either side";
  EXPECT_DOUBLE_EQ(word_f1("x", ""), 0);
}

}  // namespace
}  // namespace orrery::network
