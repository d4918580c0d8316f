#include "orrery/base/limits/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace orrery::base {
namespace {

class Parallel : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(0, 1, 2, 7, 100));

TEST_P(Parallel, EveryTaskRunsExactlyOnce) {
  std::vector<std::atomic<int>> runs(1000);
  parallel_for(runs.size(), GetParam(), [&](std::size_t i) { ++runs[i]; });
  for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
}

TEST_P(Parallel, NoTaskMeansNoCall) {
  parallel_for(0, GetParam(), [](std::size_t) { FAIL(); });
}

TEST_P(Parallel, TheLowestNumberedFailureIsRethrown) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    try {
      parallel_for(200, GetParam(), [](std::size_t i) {
        // The first to fail in number is the last to fail in time.
        if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (i >= 3) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

TEST_P(Parallel, NoTaskStartsOnceOneHasFailed) {
  std::atomic<int> runs = 0;
  EXPECT_THROW(parallel_for(100000, GetParam(),
                            [&](std::size_t) {
                              ++runs;
                              throw std::runtime_error("no");
                            }),
               std::runtime_error);
  EXPECT_GE(runs.load(), 1);
  EXPECT_LE(runs.load(), thread_count(GetParam()));
}

TEST(ParallelThreads, AreAtMostAsManyAsAskedFor) {
  for (const int threads : {1, 2, 3}) {
    std::atomic<int> now = 0, most = 0, runs = 0;
    parallel_for(64, threads, [&](std::size_t) {
      ++runs;
      const int running = ++now;
      int seen = most;
      while (seen < running && !most.compare_exchange_weak(seen, running)) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      --now;
    });
    EXPECT_EQ(runs.load(), 64);
    EXPECT_LE(most.load(), threads);
  }
}

TEST(ParallelThreads, OneThreadIsTheCallersOwn) {
  std::vector<std::thread::id> threads;
  parallel_for(5, 1, [&](std::size_t) { threads.push_back(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::vector<std::thread::id>(5, std::this_thread::get_id()));
}

TEST(ParallelThreads, TwoThreadsReallyRunAtOnce) {
  std::atomic<int> arrived = 0;
  parallel_for(2, 2, [&](std::size_t) {
    ++arrived;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (arrived < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

}  // namespace
}  // namespace orrery::base
