// A file that is open, for the readers of this folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path);
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  bool open() const { return number_ >= 0; }
  int number() const { return number_; }

  // Appends what comes next, at most `most` bytes; false at the end and on failure (errno is set then, else 0).
  bool append(std::string& text, std::size_t most) const;

 private:
  int number_;
};

// What a user named. Throws InputError (O0100, at `whole`) where there is no such file or it cannot be opened.
class Opened : public Descriptor {
 public:
  Opened(const std::string& path, const Location& whole) : Opened(path, whole, kind_of(path, whole)) {}
  std::filesystem::file_type type() const { return type_; }

 private:
  Opened(const std::string& path, const Location& whole, std::filesystem::file_type type);
  static std::filesystem::file_type kind_of(const std::string& path, const Location& whole);

  std::filesystem::file_type type_;
};

// O0100 for what errno says.
[[noreturn]] void unreadable(const std::string& path, const Location& whole);

}  // namespace orrery::base
