#include "orrery/scenario/processor_share.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace orrery::scenario {
namespace {

void spin(double seconds) {
  const base::Stopwatch clock;
  while (clock.seconds() < seconds) {
  }
}

TEST(ProcessorShare, WhatAThreadSleepsItDidNotGet) {
  const ProcessorClock clock(1);
  spin(0.01);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const ProcessorShare got = clock.since();
  EXPECT_TRUE(got.known && got.disturbed());
  EXPECT_GT(got.waited, 0.05);
  EXPECT_NEAR(got.lost(), got.waited / (got.ran + got.waited), 1e-12);
}

TEST(ProcessorShare, RanAndWaitedTimeOfOneThreadIsTheClocks) {
  const base::Stopwatch wall;
  const ProcessorClock clock(1);
  spin(0.05);
  const ProcessorShare got = clock.since();
  EXPECT_NEAR(got.ready(), wall.seconds(), 0.02 + 0.2 * wall.seconds());
}

TEST(ProcessorShare, ALittleIsNoDisturbance) {
  ProcessorShare got;
  got.known = true;
  got.ran = 1;
  got.waited = 0.04;
  EXPECT_FALSE(got.disturbed());
  got.waited = 0.06;
  EXPECT_TRUE(got.disturbed());
  got.known = false;
  EXPECT_FALSE(got.disturbed());
}

}  // namespace
}  // namespace orrery::scenario
