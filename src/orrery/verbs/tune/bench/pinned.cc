#include "orrery/verbs/tune/bench/pinned.h"

#include <sched.h>

#include <cstring>

namespace orrery::verbs {

PinnedThread::PinnedThread(bool wanted) {
  cpu_set_t before, one;
  const int here = sched_getcpu();
  if (!wanted || here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0) return;
  CPU_ZERO(&one);
  CPU_SET(here, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return;
  before_.resize(sizeof before);
  std::memcpy(before_.data(), &before, sizeof before);
}

PinnedThread::~PinnedThread() {
  if (before_.empty()) return;
  cpu_set_t before;
  std::memcpy(&before, before_.data(), sizeof before);
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace orrery::verbs
