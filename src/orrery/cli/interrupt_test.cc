#include "orrery/cli/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace orrery::verbs {
namespace {

TEST(Interrupt, SetsTheFlagAndLeavesTheProgramAlive) {
  const InterruptGuard guard;
  EXPECT_FALSE(*guard.flag());
  ASSERT_EQ(std::raise(SIGINT), 0);
  EXPECT_TRUE(*guard.flag());
}

TEST(Interrupt, ASecondOneEndsTheProgram) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(1600));
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Interrupt, TheSameWishSentTwiceCountsOnce) {
  const InterruptGuard guard;
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  EXPECT_TRUE(*guard.flag());
}

TEST(Interrupt, TheSameWishSentAgainWhileTheAnswerIsPrintedCountsOnce) {
  {
    const InterruptGuard guard;
    std::raise(SIGTERM);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::raise(SIGTERM);
  const InterruptGuard next;
  EXPECT_FALSE(*next.flag());
}

TEST(Interrupt, EveryWayToEndAProgramPolitelySetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const InterruptGuard guard;
    ASSERT_EQ(std::raise(signal), 0);
    EXPECT_TRUE(*guard.flag()) << "signal " << signal;
  }
}

TEST(Interrupt, HangUpsStayIgnoredUnderNohup) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptGuard guard;
    ASSERT_EQ(std::raise(SIGHUP), 0);
    EXPECT_FALSE(*guard.flag());
  }
  ASSERT_EQ(std::raise(SIGHUP), 0);
  std::signal(SIGHUP, SIG_DFL);
}

TEST(Interrupt, IsForgottenByTheNextSearch) {
  {
    const InterruptGuard guard;
    std::raise(SIGTERM);
  }
  const InterruptGuard next;
  EXPECT_FALSE(*next.flag());
}

}  // namespace
}  // namespace orrery::verbs
