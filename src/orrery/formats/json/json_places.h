// Where the parts of a JSON text stand. nlohmann-json forgets places; a second, simple scan of a
// text that it has accepted finds them again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::json {

// Places of increasing offsets of one text; each line is counted once.
class Cursor {
 public:
  explicit Cursor(std::shared_ptr<const base::SourceFile> file) : file_(std::move(file)) {}

  // The place of the bytes from `begin` to `end`, as far as they stand on one line. `begin` never decreases.
  base::Location at(std::size_t begin, std::size_t end);

 private:
  std::shared_ptr<const base::SourceFile> file_;
  std::size_t seen_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

// Offset just past the string that opens at `open`.
std::size_t past_string(std::string_view text, std::size_t open);

struct KeyPlace {
  std::string key;  // as written between the quotes, escapes not decoded
  base::Location key_where;
  base::Location value_where;  // first line of the value only
};

// Top-level keys of a text that is a valid JSON object, in order, duplicates included. O(text).
std::vector<KeyPlace> top_level_keys(const std::shared_ptr<const base::SourceFile>& file);

// The place of a byte of the text. Columns and lengths count bytes, as everywhere.
base::Location place_at(const std::shared_ptr<const base::SourceFile>& file, std::size_t byte, int length = 1);

}  // namespace orrery::formats::json
