// Ctrl-C during a search: the best so far is printed, then the program ends with 130.
#pragma once

#include <atomic>

namespace orrery::cli {

// While it lives, the first SIGINT or SIGTERM sets the flag; a second one ends the program at once. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>* flag() const;
};

}  // namespace orrery::cli
