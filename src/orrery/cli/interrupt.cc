#include "orrery/cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include "orrery/base/limits/stop_signal.h"
#include "orrery/cli/console.h"
#include "orrery/cli/end_on_signals.h"

namespace orrery::verbs {
namespace {

// A signal handler can reach nothing but globals.
using base::stop_requested;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only store to a lock-free atomic");

struct LastWords {
  std::string document, message;
};
std::atomic<const LastWords*> last_words{nullptr};
static_assert(std::atomic<const LastWords*>::is_always_lock_free);

void say(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

std::atomic<bool> left_alone{false};

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
    const LastWords* const words = last_words.load();
    if (words == nullptr || base::stop_watchers.load() > 0) return;
    say(STDOUT_FILENO, words->document);
    say(STDERR_FILENO, words->message);
    ::_exit(kInterrupted);
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

void install_request() {
  struct sigaction action = {};
  action.sa_sigaction = request_stop;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  install(action);
}

}  // namespace

void end_on_signals(const std::string& document, const std::string& message) {
  last_words = new LastWords{document, message};  // a signal may come as long as the program runs
  install_request();
}

void answer_begins() {
  [[maybe_unused]] static const int watched = ++base::stop_watchers;  // for good
}

void leave_signals_alone() {
  left_alone = true;
}

InterruptGuard::InterruptGuard() {
  // Where several questions follow each other.
  if (last_words.load() == nullptr && !left_alone) stop_requested = false;
  ++base::stop_watchers;
  if (!left_alone) install_request();
}

InterruptGuard::~InterruptGuard() {
  --base::stop_watchers;
  // The echo must not end the program while it prints the best so far.
  if (left_alone || stop_requested || last_words.load() != nullptr) return;
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigemptyset(&usual.sa_mask);
  install(usual);
}

const std::atomic<bool>* InterruptGuard::flag() const {
  return &stop_requested;
}

}  // namespace orrery::verbs
