// Threads that stay: a layer starts some thirty parallel loops of a millisecond each, too short to make threads for.
#pragma once

#include <cstdint>
#include <memory>

#include "orrery/base/limits/budget.h"

namespace orrery::kernels {

class Pool {
 public:
  // As many threads as the machine runs at once when `threads` <= 0. The caller of run() is one of them. Fewer, when
  // the system starts no more.
  explicit Pool(int threads);
  ~Pool();
  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;

  int threads() const;

  // Once `budget` is spent, tasks are left undone, and what they were to compute is worthless. Null: all are done.
  void limit(const base::Budget* budget);
  bool spent() const;

  // task(i, worker) for each i from 0 to tasks - 1, once; returns when all have ended. Workers are numbered from 0 to
  // threads() - 1, and a worker runs one task at a time. Tasks are dealt one by one to whoever is free, so their times
  // need not be equal; which worker gets which is not fixed, so what a task computes must not depend on it. Tasks do
  // not throw and do not call run().
  template <class Task>
  void run(std::int64_t tasks, const Task& task) {
    run_all(tasks, &task,
            [](const void* self, std::int64_t i, int worker) { (*static_cast<const Task*>(self))(i, worker); });
  }

 private:
  using Call = void (*)(const void* task, std::int64_t i, int worker);
  void run_all(std::int64_t tasks, const void* task, Call call);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orrery::kernels
