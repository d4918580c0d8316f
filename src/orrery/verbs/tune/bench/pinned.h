// The calling thread kept on the processor that it runs on, so that the system does not move it, and its caches'
// contents with it, while something is measured. Threads of a pool stay where the system puts them: one for each core.
#pragma once

#include <vector>

namespace orrery::verbs {

class PinnedThread {
 public:
  explicit PinnedThread(bool wanted);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  std::vector<unsigned char> before_;  // where it could run; empty: not pinned
};

}  // namespace orrery::verbs
