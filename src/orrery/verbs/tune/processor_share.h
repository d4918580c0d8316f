// How much of the processors' time the threads of this process got while something was measured.
#pragma once

#include "orrery/base/limits/stopwatch.h"

namespace orrery::verbs {

// Seconds over all threads of this process, waited: ready to run, while another thread had the processor.
struct ProcessorShare {
  double ran = 0, waited = 0;
  bool known = false;  // else the system does not tell

  double ready() const { return ran + waited; }
  double lost() const { return ready() > 0 ? waited / ready() : 0; }
  bool disturbed() const;  // so much was lost that a measurement says something else
};

class ProcessorClock {
 public:
  // Starts. `threads`: how many work; where it is one, the clock on the wall tells what the system does not.
  explicit ProcessorClock(int threads);
  ProcessorShare since() const;

 private:
  int threads_;
  base::Stopwatch wall_;
  ProcessorShare before_;
};

}  // namespace orrery::verbs
