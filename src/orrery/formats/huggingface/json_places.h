// Where the top-level keys of a JSON object stand. nlohmann-json forgets places; a second, simple scan of a
// text that it has accepted finds them again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"

namespace orrery::formats::huggingface {

struct KeyPlace {
  std::string key;  // as written between the quotes, escapes not decoded
  base::Location key_where;
  base::Location value_where;  // first line of the value only
};

// Top-level keys of a text that is a valid JSON object, in order, duplicates included. O(text).
std::vector<KeyPlace> top_level_keys(const std::shared_ptr<const base::SourceFile>& file);

// The place of a byte of the text. Columns and lengths count bytes, as everywhere.
base::Location place_at(const std::shared_ptr<const base::SourceFile>& file, std::size_t byte, int length = 1);

}  // namespace orrery::formats::huggingface
