// The best answer and the bound of a running search, for reports of progress.
#pragma once

#include <limits>
#include <mutex>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

// Gathers reports of (best, lower bound) from any number of threads and hands them on to
// SearchLimits::progress, at most once per SearchLimits::progress_seconds. The best handed on never rises and
// the bound never falls, so neither does the gap between them widen. Without a callback it does nothing.
class GapWatch {
 public:
  explicit GapWatch(const SearchLimits& limits)
      : progress_(limits.progress), interval_seconds_(limits.progress_seconds) {}

  bool watched() const { return static_cast<bool>(progress_); }

  void report(double best, double lower_bound) {
    if (!watched()) return;
    const std::lock_guard lock(mutex_);
    if (best < best_) best_ = best;
    if (lower_bound > lower_bound_) lower_bound_ = lower_bound;
    if (clock_.seconds() < next_seconds_) return;
    next_seconds_ = clock_.seconds() + interval_seconds_;
    // Rounding may put a bound that is attained above the cost that attains it.
    progress_(best_, lower_bound_ < best_ ? lower_bound_ : best_);
  }

 private:
  const std::function<void(double, double)> progress_;
  const double interval_seconds_;
  const base::Stopwatch clock_;
  std::mutex mutex_;  // of what follows, and of the callback
  double next_seconds_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  double lower_bound_ = 0;
};

}  // namespace orrery::nest
