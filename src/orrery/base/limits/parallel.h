// Independent tasks on several threads, with the same effects for any number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace orrery::base {

// How many threads to start: `wanted`, or as many as the machine runs at once when `wanted` <= 0.
int thread_count(int wanted);

// Calls task(0), ..., task(tasks - 1), each once, on at most `threads` threads (<= 0: all the machine has),
// and returns when all have ended. Tasks start in order of their number. When tasks throw, no further one
// starts, and the exception of the lowest-numbered task that threw is rethrown: the same one for every
// number of threads, as every task before it has run.
void parallel_for(std::size_t tasks, int threads, const std::function<void(std::size_t)>& task);

}  // namespace orrery::base
