// A field of a value, described once: its path, what it may be, and what it means.
//
// A value lends its fields (`cluster::fields(plan)`) as a list that is bound to its members. `--set`, option ranges,
// JSON and the tables of fields in docs follow from the list.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/base/text/override.h"

namespace orrery::base {

inline constexpr Count kUnbounded = std::numeric_limits<Count>::max();

using FieldValue = std::variant<Count, double, bool, std::string>;

struct Field {
  std::string path;                    // "overlap.dp"
  std::string values;                  // what it may be, in words: "a whole number from 1 to 50000"
  std::string text;                    // what it means, one line
  Count least = 0, most = kUnbounded;  // of whole numbers
  std::function<FieldValue()> get;
  std::function<bool(const std::string&)> set;  // false: the text is no such value, and nothing has changed
  std::vector<std::string> choices = {};        // of named values
};
using Fields = std::vector<Field>;

Field whole_field(std::string path, Count& member, Count least, Count most, std::string text);
Field whole_field(std::string path, int& member, int least, int most, std::string text);
Field number_field(std::string path, double& member, double least, double most, std::string text);
Field share_field(std::string path, double& member, std::string text);
Field truth_field(std::string path, bool& member, std::string text);
Field named_field(std::string path, const std::vector<std::string>& names, std::function<std::size_t()> get,
                  std::function<void(std::size_t)> set, std::string text);

template <typename Value>
Field choice_field(std::string path, Value& member, const std::vector<std::pair<std::string, Value>>& choices,
                   std::string text) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return named_field(
      std::move(path), names,
      [&member, choices] {
        std::size_t at = 0;
        while (at < choices.size() && choices[at].second != member) ++at;
        return at;
      },
      [&member, choices](std::size_t index) { member = choices[index].second; }, std::move(text));
}

// Null: no such field.
const Field* find_field(const Fields& fields, std::string_view path);

// `find_field` for a path of `--set`; where there is none, an error `code` says which there are. `owner` is "a plan".
const Field* asked_field(const Fields& fields, const Override& set, const OverrideText& shown, const char* code,
                         const char* owner, Diagnostics& found);

// As a table in Markdown, a row for each field: path, values, meaning.
std::string field_table(const Fields& fields, std::string_view root);

}  // namespace orrery::base
