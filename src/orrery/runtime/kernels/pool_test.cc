#include "orrery/runtime/kernels/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace orrery::kernels {
namespace {

TEST(Pool, RunsEveryTaskOnceByAWorkerThatRunsNoOtherMeanwhile) {
  for (const int threads : {1, 2, 7}) {
    Pool pool(threads);
    ASSERT_GE(pool.threads(), 1);
    for (int round = 0; round < 300; ++round) {
      const std::int64_t tasks = round % 17;
      std::vector<std::atomic<int>> runs(17);
      std::vector<std::atomic<int>> at_work(pool.threads());
      std::atomic<bool> alone = true;
      pool.run(tasks, [&](std::int64_t i, int worker) {
        if (at_work[worker].fetch_add(1) != 0) alone = false;
        runs[i].fetch_add(1);
        at_work[worker].fetch_sub(1);
      });
      for (std::int64_t i = 0; i < 17; ++i) ASSERT_EQ(runs[i].load(), i < tasks ? 1 : 0);
      ASSERT_TRUE(alone);
    }
  }
}

TEST(Pool, SeesWhatTasksWroteAndIsStillThereAfterAMove) {
  Pool pool(3);
  std::vector<int> plain(1000);
  pool.run(1000, [&](std::int64_t i, int) { plain[i] = static_cast<int>(i); });
  Pool moved = std::move(pool);
  moved.run(1000, [&](std::int64_t i, int) { plain[i] += 1; });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(plain[i], i + 1);
}

}  // namespace
}  // namespace orrery::kernels
