#include "orrery/verbs/sparse/break_even/run.h"

#include <gtest/gtest.h>

#include <atomic>

namespace orrery::verbs {
namespace {

BreakEvenPoint break_even_point(double density, double speedup) {
  BreakEvenPoint out{"element", 128, density, density};
  out.speedup = speedup;
  return out;
}

// Times are linear in the density between points: 1/2 at 0.1 and 2 at 0.4 meet 1 at a third of the way.
TEST(BreakEven, LiesBetweenThePointsThatPayAndThoseThatDoNot) {
  const auto lines = lines_of({break_even_point(0.1, 2), break_even_point(0.4, 0.5)});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NEAR(*lines[0].density, 0.2, 1e-12);
  EXPECT_FALSE(lines[0].beyond);
}

TEST(BreakEven, IsNowhereWhereNothingPaysAndBeyondWhereAllDoes) {
  EXPECT_FALSE(lines_of({break_even_point(0.1, 0.9), break_even_point(0.4, 0.5)})[0].density);
  const auto all = lines_of({break_even_point(0.4, 1.5), break_even_point(0.1, 2)});
  EXPECT_EQ(*all[0].density, 0.4);
  EXPECT_TRUE(all[0].beyond);
}

// What is marked as paying is never said to pay nowhere.
TEST(BreakEven, LiesBehindTheLastThatPaysAndNamesThoseBelowThatDoNot) {
  const auto beyond = lines_of({break_even_point(0.1, 0.9), break_even_point(0.4, 2)});
  EXPECT_EQ(*beyond[0].density, 0.4);
  EXPECT_TRUE(beyond[0].beyond);
  EXPECT_EQ(beyond[0].except, std::vector<double>{0.1});
  const auto between = lines_of(
      {break_even_point(0.05, 2), break_even_point(0.1, 0.9), break_even_point(0.4, 2), break_even_point(0.7, 0.5)});
  EXPECT_NEAR(*between[0].density, 0.5, 1e-12);
  EXPECT_FALSE(between[0].beyond);
  EXPECT_EQ(between[0].except, std::vector<double>{0.1});
}

TEST(BreakEven, CountsPyTorchWhereItIsFaster) {
  BreakEvenPoint slower = break_even_point(0.1, 2);
  slower.pytorch_speedup = 0.8;
  EXPECT_FALSE(slower.pays());
  EXPECT_FALSE(lines_of({slower})[0].density);
  slower.pytorch_speedup = 1.2;
  EXPECT_TRUE(slower.pays());
}

TEST(BreakEven, KeepsAboutTheDensitiesThatAreAskedFor) {
  BreakEvenRequest request;
  request.lengths = {256};
  request.densities = {0.1, 0.3};
  request.heads = 2;
  request.turns = 1;
  request.limits.threads = 2;
  for (const kernels::Type type : {kernels::Type::kF32, kernels::Type::kBf16}) {
    request.type = type;
    const BreakEven answer = break_even(request);
    ASSERT_EQ(answer.points.size(), 10U);
    EXPECT_EQ(answer.lines.size(), 5U);
    for (const BreakEvenPoint& p : answer.points) {
      EXPECT_NEAR(p.density, p.wanted,
                  p.structure == "block64"   ? 0.25
                  : p.structure == "block32" ? 0.1
                                             : 0.05)
          << p.structure;         // whole blocks
      EXPECT_GT(p.sparse_ms, 0);  // beside predict_ms says nothing: the two are timed apart
      EXPECT_EQ(p.predict_ms == 0, p.structure == "window");
    }
  }
}

TEST(BreakEven, KeepsWhatIsDoneWhenItIsToldToStop) {
  BreakEvenRequest request;
  request.lengths = {16};
  request.heads = 1;
  request.turns = 1;
  std::atomic<bool> stop = false;
  request.limits.stop = &stop;
  request.progress = [&](std::size_t done, std::size_t) { stop = done == 3; };
  const BreakEven answer = break_even(request);
  EXPECT_EQ(answer.points.size(), 3U);
  EXPECT_EQ(answer.all, 20U);
  EXPECT_TRUE(answer.interrupted);
  EXPECT_FALSE(answer.out_of_time);
}

}  // namespace
}  // namespace orrery::verbs
