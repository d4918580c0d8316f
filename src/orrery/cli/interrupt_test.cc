#include "orrery/cli/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace orrery::cli {
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
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
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
}  // namespace orrery::cli
