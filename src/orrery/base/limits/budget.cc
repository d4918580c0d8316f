// The size of the process is read from /proc; on systems without it, only room() limits the memory.
#include "orrery/base/limits/budget.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>

namespace orrery::base {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(5);
// Memory of the program itself, its inputs, and the answers of earlier searches.
constexpr std::size_t kBesideSearch = std::size_t{64} << 20;

struct Size {
  std::size_t whole = 0, resident = 0;  // bytes; 0: unknown
};

// Without allocating: it is asked when memory is short.
Size size_of_process() {
  Size size;
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return size;
  std::array<char, 128> text{};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  if (length <= 0) return size;
  const std::size_t page = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
  const char* const end = text.data() + length;
  const auto [next, failure] = std::from_chars(text.data(), end, size.whole);
  if (failure == std::errc() && next != end) std::from_chars(next + 1, end, size.resident);
  return {size.whole * page, size.resident * page};
}

std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The least that is left in the control group of this process and those around it. Version 2, then version 1.
std::optional<std::size_t> left_in_control_groups() {
  std::optional<std::size_t> least;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers.find("memory") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* const most = unified ? "/memory.max" : "/memory.limit_in_bytes";
    const char* const used = unified ? "/memory.current" : "/memory.usage_in_bytes";
    for (std::string group = line.substr(second + 1);; group = group.substr(0, group.rfind('/'))) {
      if (group == "/") group.clear();
      const auto limit = number_in(root + group + most);  // "max" is not a number
      const auto taken = number_in(root + group + used);
      if (limit && taken) least = std::min(least.value_or(SIZE_MAX), *limit > *taken ? *limit - *taken : 0);
      if (group.empty() || group.find('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

Budget::Budget(const Limits& limits, int shares) : stop_(limits.stop), memory_(limits.memory) {
  // More than a century is treated as no limit; the clock counts in 63 bits.
  if (limits.seconds > 0 && limits.seconds < 3e9)
    deadline_ =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds));
  if (limits.memory > 0) room_ = static_cast<double>(limits.memory) / std::max(1, shares);
}

Budget::Budget(const Budget& whole, double seconds)
    : deadline_(whole.deadline_), stop_(whole.stop_), memory_(whole.memory_), room_(whole.room_) {
  out_of_memory_ = whole.out_of_memory();
  if (seconds < 3e9)
    deadline_ = std::min(deadline_, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                       std::chrono::duration<double>(std::max(0.0, seconds))));
}

double Budget::seconds_left() const {
  if (!limited()) return std::numeric_limits<double>::infinity();
  return std::max(0.0, std::chrono::duration<double>(deadline_ - Clock::now()).count());
}

bool Budget::grown(Clock::time_point now) const {
  next_look_ = (now + kBetweenLooks).time_since_epoch().count();
  const auto too_large = [&] { return size_of_process().resident > memory_ + kBesideSearch; };
  if (!too_large()) return false;
  // Memory freed by earlier searches may still be held by the allocator.
  malloc_trim(0);
  if (!too_large()) return false;
  out_of_memory_ = true;
  return true;
}

std::optional<std::size_t> memory_allowed() {
  std::optional<std::size_t> least = left_in_control_groups();
  const Size size = size_of_process();
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const std::size_t left = limit.rlim_cur > size.whole ? limit.rlim_cur - size.whole : 0;
    least = std::min(least.value_or(SIZE_MAX), left);
  }
  if (!least) return std::nullopt;
  // Fragmentation, stacks of threads and the text of the answer take memory, too.
  constexpr std::size_t kForTheAnswer = std::size_t{16} << 20;
  const std::size_t rest = *least > kForTheAnswer ? *least - kForTheAnswer : 0;
  return std::max<std::size_t>(rest / 4 * 3, std::size_t{1} << 20);
}

}  // namespace orrery::base
