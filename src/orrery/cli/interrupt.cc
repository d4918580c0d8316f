#include "orrery/cli/interrupt.h"

#include <csignal>
#include <cstdint>
#include <ctime>

namespace orrery::cli {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only store to a lock-free atomic");

std::atomic<std::int64_t> first_at_ns{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// One wish to stop may come twice: `timeout` signals its child and then the child's group.
constexpr std::int64_t kEchoNs = 200'000'000;

std::int64_t now_ns() {
  struct timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Calls nothing but what is safe in a handler.
void request_stop(int signal) {
  if (!stop_requested.exchange(true, std::memory_order_relaxed)) {
    first_at_ns.store(now_ns(), std::memory_order_relaxed);
    return;
  }
  if (now_ns() - first_at_ns.load(std::memory_order_relaxed) < kEchoNs) return;
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);  // delivered when this handler returns
}

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

bool is_ignored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void install(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals)
    if (signal != SIGHUP || !is_ignored(signal)) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_requested = false;
  install(request_stop, SA_RESTART);
}

InterruptGuard::~InterruptGuard() {
  install(SIG_DFL, 0);
}

const std::atomic<bool>* InterruptGuard::flag() const {
  return &stop_requested;
}

}  // namespace orrery::cli
