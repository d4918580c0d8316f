#include "orrery/base/text/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/text/printable.h"

namespace orrery::base {
namespace {

// Each byte that is not printable ASCII by its octal number.
std::string escaped(const std::string& word) {
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out + "'";
}

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  if (printable(word, false) != word) return escaped(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + quoted(word);
  return out;
}

}  // namespace orrery::base
