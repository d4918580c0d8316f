// Wall-clock time, for the `timing` and `seconds` that answers carry; never an input to a decision about
// which answer is best.
#pragma once

#include <chrono>

namespace orrery::base {

class Stopwatch {
 public:
  // Seconds since construction; never decreases.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace orrery::base
