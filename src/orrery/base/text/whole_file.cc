#include "orrery/base/text/whole_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "orrery/base/limits/stop_signal.h"

namespace orrery::base {
namespace {

// Opened, locked and empty; -1: it cannot be.
int open_alone(const char* path) {
  for (;;) {
    const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) return -1;
    while (::flock(file, LOCK_EX) != 0 && errno == EINTR) {  // a file system without locks goes without
    }
    // Whoever had the lock may have given the file its name.
    struct stat mine {
    }, named{};
    if (::fstat(file, &mine) == 0 && ::lstat(path, &named) == 0 && mine.st_dev == named.st_dev &&
        mine.st_ino == named.st_ino && ::ftruncate(file, 0) == 0)
      return file;
    ::close(file);
  }
}

}  // namespace

bool WholeFile::is_stream(const std::string& path) {
  std::error_code ignored;
  const auto there = std::filesystem::status(path, ignored);
  return path.starts_with("/dev/") || (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there));
}

// Signals wait until it has its name, or is gone.
WholeFile::WholeFile(std::string path) : path_(std::move(path)), part_(is_stream(path_) ? path_ : path_ + ".part") {
  ++stop_watchers;
  const int file = part_ == path_ ? ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC) : open_alone(part_.c_str());
  if (file >= 0) file_ = ::fdopen(file, "wb");
  if (file_ == nullptr) reason_ = errno;
  struct stat old {};
  if (file >= 0 && part_ != path_ && ::stat(path_.c_str(), &old) == 0 && ::fchmod(file, old.st_mode & 0777) != 0)
    reason_ = errno;
}

WholeFile::~WholeFile() {
  if (file_ != nullptr) {
    if (part_ != path_) ::unlink(part_.c_str());
    std::fclose(file_);
  }
  --stop_watchers;
}

void WholeFile::write(std::string_view bytes) {
  if (reason_ == 0 && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) reason_ = errno;
}

std::string WholeFile::sync() {
  if (reason_ == 0 && (std::fflush(file_) != 0 || (part_ != path_ && ::fsync(::fileno(file_)) != 0))) reason_ = errno;
  return reason_ == 0 ? "" : std::generic_category().message(reason_);
}

std::string WholeFile::commit() {
  if (sync().empty() && part_ != path_ && ::rename(part_.c_str(), path_.c_str()) != 0) reason_ = errno;
  if (reason_ != 0) return std::generic_category().message(reason_);
  std::fclose(std::exchange(file_, nullptr));
  return "";
}

std::string write_whole_file(const std::string& path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  return file.commit();
}

}  // namespace orrery::base
