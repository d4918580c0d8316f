#include "orrery/formats/cacti/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "orrery/base/limits/stop_signal.h"

namespace orrery::formats::cacti {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What posix_spawn is told, released at the end.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan(const fs::path& directory, const fs::path& log) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

Ended ended(int status) {
  if (WIFSIGNALED(status)) return {Ended::How::kSignalled, WTERMSIG(status)};
  return {Ended::How::kExited, WEXITSTATUS(status)};
}

}  // namespace

Ended run(const std::vector<std::string>& command, const fs::path& directory, const fs::path& log,
          std::chrono::milliseconds limit) {
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);

  const SpawnPlan plan(directory, log);
  pid_t child = 0;
  if (const int error =
          posix_spawn(&child, arguments.front(), &plan.actions, &plan.attributes, arguments.data(), environ))
    return {Ended::How::kNotStarted, error};

  const auto deadline = Clock::now() + limit;
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(16))) {
    int status = 0;
    const pid_t seen = waitpid(child, &status, WNOHANG);
    if (seen == child) return ended(status);
    if (seen < 0 && errno != EINTR) return {Ended::How::kNotStarted, errno};
    std::error_code ignored;
    const std::uintmax_t printed = fs::file_size(log, ignored);
    const auto how = base::stop_requested                 ? Ended::How::kStopped
                     : !ignored && printed > kMostPrinted ? Ended::How::kTalked
                     : Clock::now() >= deadline           ? Ended::How::kTimedOut
                                                          : Ended::How::kExited;
    if (how != Ended::How::kExited) {
      kill(-child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return {how, 0};
    }
    std::this_thread::sleep_for(pause);
  }
}

std::string text(const Ended& ended, std::chrono::milliseconds limit) {
  switch (ended.how) {
    case Ended::How::kExited:
      return fmt::format("ended with status {}", ended.code);
    case Ended::How::kSignalled:
      return fmt::format("was stopped by signal {}", ended.code);
    case Ended::How::kTimedOut:
      return fmt::format("was still running after {:g} s", static_cast<double>(limit.count()) / 1000);
    case Ended::How::kTalked:
      return fmt::format("printed more than {} MiB", kMostPrinted >> 20);
    case Ended::How::kStopped:
      return "was interrupted";
    case Ended::How::kNotStarted:
      return fmt::format("did not start ({})", std::error_code(ended.code, std::generic_category()).message());
  }
  return {};
}

ScratchDirectory::ScratchDirectory() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return;
  std::string name = (parent / "orrery-XXXXXX").string();
  if (mkdtemp(name.data())) path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (path_) fs::remove_all(*path_, ignored);
}

}  // namespace orrery::formats::cacti
