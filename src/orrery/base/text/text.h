// Short texts: letters, blanks, lists, the numbers that stand in them, and one or many of a thing.
//
// Files of users are read by formats/; this is for values of options and fields, cells, and what messages are made of.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::base {

// The letters of ASCII; all other bytes stay.
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
std::string lower(std::string_view text);
std::string upper(std::string_view text);

// Equal but for upper and lower case.
bool same_letters(std::string_view a, std::string_view b);

// Without the blanks at both ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

// What stands between the separators: three parts of "a,,b", of which one is empty; one empty part of "".
std::vector<std::string_view> split(std::string_view text, char separator);
void split(std::string_view text, char separator, std::vector<std::string_view>& parts);  // whose memory is used again

// All of them, with `between` between two: what fmt::join writes, at a tenth of its cost to compile.
std::string joined(const std::vector<std::string>& texts, std::string_view between);
template <typename Range>
std::string joined(const Range& range, std::string_view between) {
  std::string out;
  for (const auto& each : range) {
    if (&each != &*std::begin(range)) out += between;
    if constexpr (std::is_convertible_v<decltype(each), std::string_view>)
      out += std::string_view(each);
    else
      out += fmt::format("{}", each);
  }
  return out;
}

// Whether one of the names is this.
template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// The number that `text` is, written as C++ reads it without a locale ("12", "-1.5e3", no "+"). Nothing where anything
// else stands in it or the number does not fit.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Nothing, too, where it is below `least` or above `most`, or nan.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, std::type_identity_t<Number> least,
                                   std::type_identity_t<Number> most) {
  const std::optional<Number> value = parse_number<Number>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// Nothing, too, where it is nan or infinite.
inline std::optional<double> parse_finite(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// The ending or the word for so many: "layer" + plural(n), plural(n, "is", "are").
template <typename Number>
constexpr const char* plural(Number count, const char* one = "", const char* more = "s") {
  return count == 1 ? one : more;
}

// "1 layer", "24 layers".
template <std::integral Number>
std::string counted(Number count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(plural(count));
}

}  // namespace orrery::base
