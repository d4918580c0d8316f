#include "orrery/runtime/layer/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery::layer {
namespace {

struct Life {
  std::size_t bytes;
  int first, last;
};

// The largest sum of what lives at one time: no plan takes less.
std::size_t least(const std::vector<Life>& lives, int steps) {
  std::size_t most = 0;
  for (int step = 0; step < steps; ++step) {
    std::size_t sum = 0;
    for (const Life& l : lives) sum += l.first <= step && step <= l.last ? l.bytes : 0;
    most = std::max(most, sum);
  }
  return most;
}

TEST(Arena, PutsTensorsThatLiveAtTheSameTimeBesideOneAnotherAndLittleElse) {
  std::mt19937 random(3);
  double taken = 0, bound = 0;
  for (int round = 0; round < 300; ++round) {
    const int steps = 12, boundary = 6, count = 1 + static_cast<int>(random() % 20);
    std::vector<Life> lives;
    Arena arena;
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % steps);
      lives.push_back({64 * (1 + random() % 50), first, first + static_cast<int>(random() % (steps - first))});
      arena.add(lives.back().bytes - random() % 64);
    }
    for (int step = 0; step < steps; ++step) {
      if (step == boundary) arena.boundary();
      for (int i = 0; i < count; ++i) {
        if (lives[i].first == step || lives[i].last == step) arena.at(i);
      }
      arena.step();
    }
    arena.place();
    arena.take(nullptr);
    std::size_t kept = 0;
    std::vector<Life> passing;
    for (const Life& l : lives) {
      if (l.first < boundary && l.last >= boundary) {
        kept += l.bytes;
      } else {
        passing.push_back(l);
      }
    }
    ASSERT_EQ(arena.kept_bytes(), kept);
    ASSERT_GE(arena.passing_bytes(), least(passing, steps));
    taken += static_cast<double>(arena.passing_bytes()), bound += static_cast<double>(least(passing, steps));
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < a; ++b) {
        if (lives[a].first > lives[b].last || lives[b].first > lives[a].last) continue;
        const char *at = static_cast<char*>(arena.at(a)), *other = static_cast<char*>(arena.at(b));
        ASSERT_TRUE(at + lives[a].bytes <= other || other + lives[b].bytes <= at) << round << " " << a << " " << b;
      }
    }
  }
  EXPECT_LE(taken, 1.1 * bound);
}

TEST(Arena, HasNoRoomForTensorsThatNobodyAsksFor) {
  Arena arena;
  arena.add(1000);
  const int used = arena.add(64);
  arena.at(used);
  arena.step();
  arena.place();
  EXPECT_EQ(arena.passing_bytes(), 64U);
  EXPECT_EQ(arena.kept_bytes(), 0U);
}

}  // namespace
}  // namespace orrery::layer
