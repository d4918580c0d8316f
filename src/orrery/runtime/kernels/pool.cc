// Helpers wait for the round's number to change: they look at it for some microseconds, then sleep (the loops of a
// layer follow one another closely, and to be woken takes longer than many of them last). A round ends when every
// helper has left it, so the next one may overwrite what describes it.
#include "orrery/runtime/kernels/pool.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "orrery/base/limits/parallel.h"

namespace orrery::kernels {

struct Pool::State {
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::uint32_t> round = 0;
  std::atomic<int> busy = 0;
  std::int64_t tasks = 0;
  const void* task = nullptr;
  Call call = nullptr;
  bool stop = false;
  const base::Budget* budget = nullptr;
  std::vector<std::thread> helpers;

  bool spent() const { return budget != nullptr && budget->spent(); }

  void work(int worker) {
    while (!spent()) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= tasks) return;
      call(task, i, worker);
    }
  }

  template <class Number>
  static void await_change(std::atomic<Number>& number, Number old) {
    for (int look = 0; look < 2000; ++look) {
      if (number.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    number.wait(old, std::memory_order_acquire);
  }

  void help(int worker) {
    std::uint32_t seen = 0;
    for (;;) {
      await_change(round, seen);
      seen = round.load(std::memory_order_acquire);
      if (stop) return;
      work(worker);
      if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) busy.notify_one();
    }
  }

  void begin_round() {
    busy.store(static_cast<int>(helpers.size()), std::memory_order_relaxed);
    next.store(0, std::memory_order_relaxed);
    round.fetch_add(1, std::memory_order_release);
    round.notify_all();
  }
};

Pool::Pool(int threads) : state_(std::make_unique<State>()) {
  const int wanted = base::thread_count(threads);
  try {
    for (int worker = 1; worker < wanted; ++worker) {
      state_->helpers.emplace_back([state = state_.get(), worker] { state->help(worker); });
    }
  } catch (const std::system_error&) {
    // The system starts no further thread; those that run share the work.
  }
}

Pool::Pool(Pool&&) noexcept = default;
Pool& Pool::operator=(Pool&&) noexcept = default;

Pool::~Pool() {
  if (state_ == nullptr) return;
  state_->stop = true;
  state_->begin_round();
  for (std::thread& helper : state_->helpers) helper.join();
}

int Pool::threads() const {
  return static_cast<int>(state_->helpers.size()) + 1;
}

void Pool::limit(const base::Budget* budget) {
  state_->budget = budget;
}

bool Pool::spent() const {
  return state_->spent();
}

void Pool::run_all(std::int64_t tasks, const void* task, Call call) {
  State& state = *state_;
  if (state.helpers.empty() || tasks <= 1) {
    for (std::int64_t i = 0; i < tasks && !state.spent(); ++i) call(task, i, 0);
    return;
  }
  state.tasks = tasks;
  state.task = task;
  state.call = call;
  state.begin_round();
  state.work(0);
  for (int left = state.busy.load(std::memory_order_acquire); left != 0;
       left = state.busy.load(std::memory_order_acquire)) {
    State::await_change(state.busy, left);
  }
}

}  // namespace orrery::kernels
