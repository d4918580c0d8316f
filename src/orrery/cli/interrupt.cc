#include "orrery/cli/interrupt.h"

#include <csignal>

namespace orrery::cli {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only store to a lock-free atomic");

void request_stop(int) {
  stop_requested.store(true, std::memory_order_relaxed);
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
  install(request_stop, SA_RESETHAND | SA_RESTART);
}

InterruptGuard::~InterruptGuard() {
  install(SIG_DFL, 0);
}

const std::atomic<bool>* InterruptGuard::flag() const {
  return &stop_requested;
}

}  // namespace orrery::cli
