// The wish to stop that a signal brings (cli/interrupt.h), for what waits where no budget is.
#pragma once

#include <atomic>

namespace orrery::base {

inline std::atomic<bool> stop_requested{false};
// How many look at it; while none does, a signal ends the program at once (cli/end_on_signals.h).
inline std::atomic<int> stop_watchers{0};

struct StopWatcher {
  StopWatcher() { ++stop_watchers; }
  ~StopWatcher() { --stop_watchers; }
  StopWatcher(const StopWatcher&) = delete;
  StopWatcher& operator=(const StopWatcher&) = delete;
};

}  // namespace orrery::base
