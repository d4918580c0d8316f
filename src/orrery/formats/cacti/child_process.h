// Runs another program and waits for it, not for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/stop_signal.h"

namespace orrery::formats::cacti {

struct Ended {
  enum class How { kExited, kSignalled, kTimedOut, kTalked, kStopped, kNotStarted } how = How::kExited;
  int code = 0;  // exit status, signal, or errno
};

// What it may print.
inline constexpr std::uintmax_t kMostPrinted = std::uintmax_t{1} << 24;

// No shell: `command` is the program's path and its arguments as they are. Its output and errors go to the file
// `log`, its input is empty. After `limit`, when it has printed too much, or when a signal asks us to stop, it and
// whatever it started in its process group are killed.
Ended run(const std::vector<std::string>& command, const std::filesystem::path& directory,
          const std::filesystem::path& log, std::chrono::milliseconds limit);

// "ended with status 1", "was stopped by signal 11", "was still running after 60 s".
std::string text(const Ended& ended, std::chrono::milliseconds limit);

// A new empty directory of our own, removed with everything in it at the end; signals wait for that.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  // Nothing where none could be made.
  const std::optional<std::filesystem::path>& path() const { return path_; }

 private:
  base::StopWatcher watched_;
  std::optional<std::filesystem::path> path_;
};

}  // namespace orrery::formats::cacti
