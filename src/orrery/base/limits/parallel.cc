// Threads draw the next task number from one counter, so that long and short tasks even out. The caller is
// one of the threads: with one thread (or one task) nothing is started at all.
//
// Tasks are handed out in order, hence when task i throws, every j < i has been handed out and will end;
// the lowest-numbered failure is therefore the one that a single thread would have met first.
#include "orrery/base/limits/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace orrery::base {

int thread_count(int wanted) {
  if (wanted > 0) return wanted;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_for(std::size_t tasks, int threads, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex failure_mutex;
  std::size_t failed_task = tasks;
  std::exception_ptr failure;

  const auto work = [&] {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= tasks) return;
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        failed = true;
        if (i < failed_task) {
          failed_task = i;
          failure = std::current_exception();
        }
      }
    }
  };

  {
    const std::size_t workers = std::min(static_cast<std::size_t>(thread_count(threads)), tasks);
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < workers; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // The system starts no further thread; those that run already share the work.
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace orrery::base
