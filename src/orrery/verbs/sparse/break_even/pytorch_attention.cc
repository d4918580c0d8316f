#include "orrery/verbs/sparse/break_even/pytorch_attention.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {
namespace {

using formats::cacti::Ended;

// Reads a length a line; prints "version V" first, then "ms M" for each. What it has not seen yet runs once for
// nothing.
constexpr const char* kScript = R"(
import sys, time
import torch
batch, heads, size, threads = (int(x) for x in sys.argv[1:5])
dtype = getattr(torch, sys.argv[5])
torch.set_num_threads(threads)
print('version', torch.__version__, flush=True)
tensors = {}
with torch.inference_mode():
    for line in sys.stdin:
        tokens = int(line)
        new = tokens not in tensors
        if new:
            tensors = {tokens: [torch.randn(batch, heads, tokens, size).to(dtype) for _ in range(3)]}
        run = lambda: torch.nn.functional.scaled_dot_product_attention(*tensors[tokens])
        if new:
            run()
        runs, begin = 0, time.perf_counter()
        while runs == 0 or time.perf_counter() - begin < 2e-3:
            run()
            runs += 1
        print('ms', (time.perf_counter() - begin) * 1e3 / runs, flush=True)
)";

// The child's input and output are `end` of a pair of sockets, so that writing to one that has ended is no signal.
int start(const std::vector<std::string>& command, const std::filesystem::path& folder, int end, pid_t& child) {
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (folder / "log").c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawnp(&child, arguments.front(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

std::string last_line(const std::filesystem::path& path) {
  std::ifstream lines(path);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

PyTorchAttention::PyTorchAttention(const PyTorchQuestion& question, const base::Budget& budget)
    : question_(question), budget_(budget) {
  if (!scratch_.path()) fail("there is no folder for temporary files");
  std::vector<std::string> command = {question.python,
                                      "-c",
                                      kScript,
                                      std::to_string(question.batch),
                                      std::to_string(question.heads),
                                      std::to_string(question.size),
                                      std::to_string(question.threads),
                                      question.type == kernels::Type::kBf16 ? "bfloat16" : "float32"};
  // The process runs in the scratch folder; a program's path is from here.
  std::error_code ignored;
  if (question.python.find('/') != std::string::npos)
    command.front() = std::filesystem::absolute(question.python, ignored).string();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail(fmt::format("it cannot be spoken to ({})", std::generic_category().message(errno)));
  socket_ = ends[0];
  const int error = start(command, *scratch_.path(), ends[1], child_);
  close(ends[1]);
  if (error != 0) {
    child_ = -1;
    fail("it " + text(Ended{Ended::How::kNotStarted, error}, {}));
  }
  const std::optional<std::string> first = line();
  if (!first) return;
  if (first->rfind("version ", 0) != 0) fail(fmt::format("it printed `{}`", *first));
  version_ = first->substr(8);
}

PyTorchAttention::~PyTorchAttention() {
  if (socket_ >= 0) close(socket_);
  if (child_ < 0) return;
  kill(-child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PyTorchAttention::fail(const std::string& what) {
  const std::string said = scratch_.path() ? last_line(*scratch_.path() / "log") : "";
  // A constructor that throws has no destructor.
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  if (child_ >= 0) {
    kill(-child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
  }
  base::Diagnostics found;
  auto& problem =
      found.error("O1861", fmt::format("PyTorch cannot be measured with `{}`", question_.python)).note(what);
  if (!said.empty()) problem.note(fmt::format("it printed last: {}", said));
  problem.hint("give `--pytorch` the Python of an environment in which `import torch` works, or leave it out");
  throw base::InputError(found.all());
}

std::optional<std::string> PyTorchAttention::line() {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      std::string out = read_.substr(0, end);
      read_.erase(0, end + 1);
      return out;
    }
    if (budget_.spent()) return std::nullopt;
    pollfd waits{socket_, POLLIN, 0};
    if (poll(&waits, 1, 20) > 0) {
      char some[256];
      const ssize_t count = recv(socket_, some, sizeof some, 0);
      if (count > 0) {
        read_.append(some, static_cast<std::size_t>(count));
        continue;
      }
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      int status = 0;
      while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
      }
      child_ = -1;
      fail("it " + text(WIFSIGNALED(status) ? Ended{Ended::How::kSignalled, WTERMSIG(status)}
                                            : Ended{Ended::How::kExited, WEXITSTATUS(status)},
                        {}));
    }
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > question_.seconds)
      fail(fmt::format("it said nothing for {:g} s", question_.seconds));
  }
}

std::optional<double> PyTorchAttention::turn(base::Count tokens) {
  const std::string asked = std::to_string(tokens) + "\n";
  if (send(socket_, asked.data(), asked.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE)
    fail(fmt::format("it cannot be spoken to ({})", std::generic_category().message(errno)));
  const std::optional<std::string> answer = line();
  if (!answer) return std::nullopt;
  char* end = nullptr;
  const double ms = answer->rfind("ms ", 0) == 0 ? std::strtod(answer->c_str() + 3, &end) : -1;
  if (end == nullptr || *end != '\0' || !(ms > 0) || !std::isfinite(ms)) fail(fmt::format("it printed `{}`", *answer));
  return ms;
}

}  // namespace orrery::verbs
