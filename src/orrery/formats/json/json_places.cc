#include "orrery/formats/json/json_places.h"

#include <algorithm>
#include <string_view>

namespace orrery::formats::json {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

base::Location Cursor::at(std::size_t begin, std::size_t end) {
  const std::string_view text = file_->text;
  for (; seen_ < begin; ++seen_)
    if (text[seen_] == '\n') {
      ++line_;
      line_start_ = seen_ + 1;
    }
  const std::string_view what = text.substr(begin, end - begin);
  const auto first_line = std::min(what.size(), what.find('\n'));
  return {file_, line_, static_cast<int>(begin - line_start_) + 1, std::max(1, static_cast<int>(first_line))};
}

std::size_t past_string(std::string_view text, std::size_t open) {
  std::size_t i = open + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::vector<KeyPlace> top_level_keys(const std::shared_ptr<const base::SourceFile>& file) {
  const std::string_view text = file->text;
  std::vector<KeyPlace> keys;
  Cursor cursor(file);
  int depth = 0;
  bool expect_key = false;
  std::size_t value_begin = 0;  // 0: no value open
  std::size_t value_end = 0;
  const auto close_value = [&] {
    if (value_begin == 0) return;
    keys.back().value_where = cursor.at(value_begin, value_end);
    value_begin = 0;
  };

  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (is_space(c)) {
      ++i;
      continue;
    }
    if (depth == 1 && (c == ',' || c == '}')) {
      close_value();
      expect_key = c == ',';
      depth -= c == '}';
      ++i;
      continue;
    }
    if (depth == 1 && expect_key && c == '"') {
      const std::size_t end = past_string(text, i);
      keys.push_back({std::string(text.substr(i + 1, end - i - 2)), cursor.at(i, end), {}});
      expect_key = false;
      i = end;
      continue;
    }
    if (depth == 1 && c == ':' && value_begin == 0) {
      for (++i; i < text.size() && is_space(text[i]);) ++i;
      value_begin = value_end = i;
      continue;
    }
    if (c == '{' || c == '[') expect_key = ++depth == 1;
    if (c == '}' || c == ']') --depth;
    i = c == '"' ? past_string(text, i) : i + 1;
    value_end = i;
  }
  return keys;
}

base::Location place_at(const std::shared_ptr<const base::SourceFile>& file, std::size_t byte, int length) {
  Cursor cursor(file);
  byte = std::min(byte, file->text.size());
  base::Location where = cursor.at(byte, byte);
  where.length = length;
  return where;
}

}  // namespace orrery::formats::json
