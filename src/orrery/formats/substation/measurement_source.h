// A file of measurements while it is read. The files are larger than what should be copied, so messages get a text that
// has the lines they point to and no others.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::substation {

// Bytes of one file: full tables have some hundred megabytes. A larger one is refused before it is mapped.
inline constexpr std::size_t kMostBytes = std::size_t{8} << 30;

// Bytes of one line; a rank's line of a thousand times has some ten thousand. A longer one is refused.
inline constexpr std::size_t kMostLine = std::size_t{1} << 20;

class Source {
 public:
  // `stop`: once it is set, there is no further line.
  Source(const std::string& name, std::string_view bytes, const std::atomic<bool>* stop = nullptr);
  ~Source();  // the text of messages is made here
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return file_->name; }
  std::string_view bytes() const { return bytes_; }

  // The next line without its end; false behind the last. Lines of blanks alone are passed over.
  bool next(std::string_view& line);
  int line_number() const { return number_; }

  // Of a part of the line that was read last.
  base::Location place(std::string_view line, std::string_view part);
  base::Location whole() const { return {file_, 0, 0}; }

  // Counts an error, and says whether it is to be told: the first twenty of a file are.
  bool tell() { return ++errors_ <= kMostTold; }
  void untell() { --errors_; }  // it was none
  bool failed() const { return errors_ > 0; }
  // What was not told, in one more message.
  void close(base::Diagnostics& found) const;

 private:
  static constexpr int kMostTold = 20;
  std::shared_ptr<base::SourceFile> file_;
  std::string_view bytes_;
  const std::atomic<bool>* stop_ = nullptr;
  std::size_t at_ = 0;
  int number_ = 0, errors_ = 0;
  std::map<int, std::string> shown_;
};

// "the line has ... bytes, more than ..."; empty where it may be read.
std::string too_long(std::string_view line);

// As messages have it: what is long is cut.
std::string shown(std::string_view text);

// Lower case, and where a letter is a dimension, i for n.
std::string dimensions(std::string_view text);

}  // namespace orrery::formats::substation
