#include "orrery/cli/interrupt.h"

#include <csignal>
#include <cstdint>
#include <ctime>

namespace orrery::verbs {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only store to a lock-free atomic");

std::atomic<std::int64_t> first_at_ns{0};
std::atomic<std::int64_t> first_sender{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// One wish to stop may come twice: `timeout` signals its child and then the child's group, and on a busy machine the
// second signal may be late.
constexpr std::int64_t kEchoNs = 200'000'000;
constexpr std::int64_t kEchoOfTheSameProcessNs = 1'500'000'000;

std::int64_t now_ns() {
  struct timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The process that sent a signal; 0 for a terminal.
std::int64_t sender_of(const siginfo_t* info) {
  return info != nullptr && info->si_code <= 0 ? info->si_pid : 0;
}

// Calls nothing but what is safe in a handler.
void request_stop(int signal, siginfo_t* info, void*) {
  const std::int64_t sender = sender_of(info);
  if (!stop_requested.exchange(true, std::memory_order_relaxed)) {
    first_at_ns.store(now_ns(), std::memory_order_relaxed);
    first_sender.store(sender, std::memory_order_relaxed);
    return;
  }
  const bool same_process = sender != 0 && sender == first_sender.load(std::memory_order_relaxed);
  if (now_ns() - first_at_ns.load(std::memory_order_relaxed) < (same_process ? kEchoOfTheSameProcessNs : kEchoNs))
    return;
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

void install(const struct sigaction& action) {
  for (const int signal : kSignals)
    if (signal != SIGHUP || !is_ignored(signal)) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_requested = false;
  struct sigaction action = {};
  action.sa_sigaction = request_stop;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  install(action);
}

InterruptGuard::~InterruptGuard() {
  if (stop_requested) return;  // the echo must not end the program while it prints the best so far
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigemptyset(&usual.sa_mask);
  install(usual);
}

const std::atomic<bool>* InterruptGuard::flag() const {
  return &stop_requested;
}

}  // namespace orrery::verbs
