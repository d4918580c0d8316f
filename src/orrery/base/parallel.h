// Independent tasks on several threads, with results that do not show how many there were.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

namespace orrery::base {

// How many threads to start: `wanted`, or as many as the machine runs at once when `wanted` <= 0.
int thread_count(int wanted);

// Calls task(0), ..., task(tasks - 1), each once, on at most `threads` threads (<= 0: all the machine has),
// and returns when all have ended. Tasks start in order of their number. When tasks throw, no further one
// starts, and the exception of the lowest-numbered task that threw is rethrown: the same one for every
// number of threads, as every task before it has run.
void parallel_for(std::size_t tasks, int threads, const std::function<void(std::size_t)>& task);

// The results of task(0), ..., task(tasks - 1), in that order.
template <typename Task>
auto parallel_map(std::size_t tasks, int threads, const Task& task) {
  using Result = std::invoke_result_t<const Task&, std::size_t>;
  static_assert(!std::is_same_v<Result, bool>, "neighbours in a vector<bool> share a byte");
  std::vector<Result> results(tasks);
  parallel_for(tasks, threads, [&](std::size_t i) { results[i] = task(i); });
  return results;
}

}  // namespace orrery::base
