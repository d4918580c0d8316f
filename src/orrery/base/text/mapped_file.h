// A file whose bytes are read where they lie: what is never touched is never loaded. For checkpoints, which are larger
// than what should be copied.
#pragma once

#include <string>
#include <string_view>

namespace orrery::base {

class MappedFile {
 public:
  // Throws InputError (O0100) where there is no such file, it is no regular one, or it cannot be read.
  // Another program that shortens the file while it is mapped ends this one.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string path_;
  std::string_view bytes_;
};

}  // namespace orrery::base
