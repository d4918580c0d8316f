// Ctrl-C, SIGTERM or a terminal that hangs up during a search: the best so far is printed, then the program ends with
// 130.
#pragma once

#include <atomic>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

// A question that was interrupted before there was any answer; `run` ends with 130.
struct StoppedWithoutAnswer : base::InputError {
  explicit StoppedWithoutAnswer(const base::InputError& error) : InputError(error) {}
};

// While it lives, the first SIGINT, SIGTERM or SIGHUP sets the flag. A second one ends the program at once, also when
// the guard is gone by then, unless it comes within a fifth of a second, or from the same process within 1.5 s:
// `timeout` sends its signal twice. SIGHUP stays ignored where it was, as under nohup. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>* flag() const;
};

}  // namespace orrery::verbs
