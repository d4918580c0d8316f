#include "orrery/base/text/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"

namespace orrery::base {
namespace {

namespace fs = std::filesystem;

// The hint for a file that does not exist: the file in the same folder with the most similar name, if any.
std::string meant_file(const std::string& path) {
  const fs::path wanted = path;
  std::error_code ignored;
  std::vector<std::string> present;
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored))
    present.push_back(entry->path().filename().string());
  std::sort(present.begin(), present.end());  // folders are listed in any order, and the first wins a tie
  const std::string near = closest(wanted.filename().string(), present);
  return did_you_mean(near.empty() ? near : (wanted.parent_path() / near).string());
}

}  // namespace

Descriptor::Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {}

Descriptor::~Descriptor() {
  if (open()) ::close(number_);
}

bool Descriptor::append(std::string& text, std::size_t most) const {
  const std::size_t before = text.size();
  text.resize(before + most);
  ssize_t got = 0;
  do {
    errno = 0;
    got = ::read(number_, text.data() + before, most);
  } while (got < 0 && errno == EINTR);
  text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got > 0;
}

fs::file_type Opened::kind_of(const std::string& path, const Location& whole) {
  if (path.find('\0') != std::string::npos) fail("O0100", "a file name must not contain a NUL character", whole);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    fail("O0100", fmt::format("there is no file `{}`", path), whole, meant_file(path));
  if (status.type() == fs::file_type::directory)
    fail("O0100", fmt::format("`{}` is a folder, not a file", path), whole, "name a file in it");
  return status.type();
}

Opened::Opened(const std::string& path, const Location& whole, fs::file_type type) : Descriptor(path), type_(type) {
  if (!open()) unreadable(path, whole);
}

void unreadable(const std::string& path, const Location& whole) {
  fail("O0100", fmt::format("cannot read `{}`: {}", path, std::generic_category().message(errno)), whole);
}

}  // namespace orrery::base
