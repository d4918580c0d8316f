// Linux counts for each thread how long it stood in a queue of threads that could run (the second number of
// /proc/self/task/*/schedstat, Documentation/scheduler/sched-stats.rst): that is what other programs took, and nothing
// that the threads waited for each other. Of a single thread the clock on the wall, less the time that it ran, tells
// the same and what a hypervisor took. Cost: a small file a thread at both ends of a measurement.
#include "orrery/verbs/tune/processor_share.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace orrery::verbs {
namespace {

// Where less is lost, figures differ by as much from run to run anyway; some milliseconds are a thread's waking up.
constexpr double kMuch = 0.05, kLong = 2e-3;

ProcessorShare so_far() {
  ProcessorShare out;
  timespec now{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0)
    out.ran = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  std::error_code failed;
  std::filesystem::directory_iterator task("/proc/self/task", failed);
  for (; !failed && task != std::filesystem::directory_iterator(); task.increment(failed)) {
    std::ifstream file(task->path() / "schedstat");
    double ran = 0, waited = 0;
    if (!(file >> ran >> waited)) continue;
    out.known = true;
    out.waited += 1e-9 * waited;
  }
  return out;
}

}  // namespace

bool ProcessorShare::disturbed() const {
  return known && lost() > kMuch && waited > kLong;
}

ProcessorClock::ProcessorClock(int threads) : threads_(threads), before_(so_far()) {}

ProcessorShare ProcessorClock::since() const {
  const ProcessorShare now = so_far();
  ProcessorShare out;
  out.ran = std::max(0.0, now.ran - before_.ran);
  out.waited = std::max(0.0, now.waited - before_.waited);
  out.known = now.known && before_.known;
  if (threads_ == 1) {
    out.waited = std::max(out.waited, wall_.seconds() - out.ran);
    out.known = true;
  }
  return out;
}

}  // namespace orrery::verbs
