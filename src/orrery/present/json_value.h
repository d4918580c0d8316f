// A JSON value: what answers and schemas are put together as before they become text.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::verbs {

class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // keys in the order in which they are printed

  Json() = default;  // null
  Json(std::nullptr_t) {}
  template <std::same_as<bool> Bool>
  Json(Bool value) : value_(value) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) Json(Integer value) : value_(static_cast<base::Count>(value)) {}
  Json(double value) : value_(value) {}  // printed as null where it is not finite
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(List value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  // The value of a key, which is added where there is none. Only of objects.
  Json& operator[](std::string_view key);
  // A list with one entry more.
  void push_back(Json value) { std::get<List>(value_).push_back(std::move(value)); }

  bool operator==(const Json&) const = default;

  using Value = std::variant<std::nullptr_t, bool, base::Count, double, std::string, List, Object>;
  const Value& value() const { return value_; }

 private:
  Value value_ = nullptr;
};

// As JSON writes a text, quotes included.
std::string json_quoted(std::string_view text);

// Indented, ending in a newline. Doubles read back exactly; bytes that are no UTF-8 are replaced by U+FFFD.
std::string text(const Json& json);

}  // namespace orrery::verbs
