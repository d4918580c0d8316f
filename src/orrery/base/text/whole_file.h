// A file that takes its name when it is whole: until then what stood there stays, and nobody meets half of it, whenever
// the program or the machine ends.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace orrery::base {

class WholeFile {
 public:
  // Writes into `path`.part, which nobody else writes meanwhile; what a process that is gone left there is dropped.
  explicit WholeFile(std::string path);
  ~WholeFile();  // without commit() nothing is left
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::string_view bytes);
  // What was written is on the disk, still as `path`.part. These two return why not; "" where they did.
  std::string sync();
  // sync(), and the file has its name.
  std::string commit();

  // Terminals, pipes and the like: they are written as they are, and nothing in them is lost.
  static bool is_stream(const std::string& path);

 private:
  std::string path_, part_;  // the same, of a stream
  std::FILE* file_ = nullptr;
  int reason_ = 0;  // errno of the first failure
};

// Returns why not; "" where it did.
std::string write_whole_file(const std::string& path, std::string_view text);

}  // namespace orrery::base
