#include "orrery/verbs/tune/processor_share.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

namespace orrery::verbs {
namespace {

void spin(double seconds) {
  const base::Stopwatch clock;
  while (clock.seconds() < seconds) {
  }
}

// Libraries that came with the program may have threads that spin for a while after its start (OpenBLAS as the system's
// BLAS): until the process rests.
void rest() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const ProcessorClock clock(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (clock.since().ran < 0.002) return;
  }
}

TEST(ProcessorShare, WhatAThreadSleepsItDidNotGet) {
  rest();
  const ProcessorClock clock(1);
  spin(0.01);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const ProcessorShare got = clock.since();
  EXPECT_TRUE(got.known && got.disturbed());
  EXPECT_GT(got.waited, 0.05);
  EXPECT_NEAR(got.lost(), got.waited / (got.ran + got.waited), 1e-12);
}

TEST(ProcessorShare, RanAndWaitedTimeOfOneThreadIsTheClocks) {
  // The system adds waiting to its account when a thread runs again, sometimes for an interval before: a few attempts.
  rest();
  double ready = 0, seconds = 1;
  for (int attempt = 0; attempt < 10 && std::fabs(ready - seconds) > 0.02 + 0.2 * seconds; ++attempt) {
    const base::Stopwatch wall;
    const ProcessorClock clock(1);
    spin(0.05);
    const ProcessorShare got = clock.since();
    ready = got.ready(), seconds = wall.seconds();
  }
  EXPECT_NEAR(ready, seconds, 0.02 + 0.2 * seconds);
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
}  // namespace orrery::verbs
