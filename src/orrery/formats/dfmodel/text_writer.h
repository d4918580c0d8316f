// Text-format protocol buffers, line by line.
#pragma once

#include <string>
#include <string_view>

#include "orrery/base/numbers/count.h"

namespace orrery::formats::dfmodel {

class TextWriter {
 public:
  void open(std::string_view block);
  void close();
  void count(std::string_view field, base::Count value);
  void real(std::string_view field, double value);  // fewest digits that read back, of 32 bits where it is one
  void flag(std::string_view field, bool value);
  void text(std::string_view field, std::string_view value);
  void name(std::string_view field, std::string_view value);  // of an enumeration

  // The same, but nothing for zero, false and "".
  void stated_count(std::string_view field, base::Count value);
  void stated_real(std::string_view field, double value);
  void stated_wide(std::string_view field, double value);  // of a field of 64 bits
  void stated_flag(std::string_view field, bool value);
  void stated_name(std::string_view field, std::string_view value);

  const std::string& written() const { return out_; }

 private:
  void line(std::string_view field, std::string_view value);

  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace orrery::formats::dfmodel
