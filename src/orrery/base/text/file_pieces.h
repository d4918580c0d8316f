// A file in pieces, for formats that are no text and may be too large to hold.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace orrery::base {

class FilePieces {
 public:
  // Throws InputError: O0100 where there is no such file or it cannot be read.
  explicit FilePieces(const std::string& path);
  ~FilePieces();
  FilePieces(const FilePieces&) = delete;
  FilePieces& operator=(const FilePieces&) = delete;

  // What comes next, until the next call; empty at the end. Throws InputError (O0100).
  std::string_view next();

  // content_hash of all pieces so far.
  std::string hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orrery::base
