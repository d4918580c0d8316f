#include "orrery/base/limits/stopwatch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace orrery::base {
namespace {

TEST(Stopwatch, CountsAtLeastTheTimeSlept) {
  const Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(watch.seconds(), 0.005);
}

TEST(Stopwatch, NeverRunsBackwards) {
  const Stopwatch watch;
  double before = watch.seconds();
  for (int i = 0; i < 1000; ++i) {
    const double now = watch.seconds();
    EXPECT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace orrery::base
