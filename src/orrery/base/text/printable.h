// Foreign texts as they may be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery::base {

inline bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// Control characters (C1 too) could rewrite the terminal, and bytes that are no UTF-8 may stand for some there.
inline bool is_printable(std::string_view character) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F && character.size() == 1;
  const std::size_t bytes = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (character.size() != bytes) return false;
  // C1, what fits fewer bytes, surrogates, and what is beyond Unicode.
  const unsigned char second = byte(1);
  const unsigned char least = lead == 0xC2 || lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

// What is not printable shows as `?`; line breaks and tabs, on one line, as blanks.
inline std::string printable(std::string_view text, bool one_line) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && !starts_character(text[end])) ++end;
    const std::string_view character = text.substr(at, end - at);
    const bool blank = character == "\n" || character == "\t";
    if (is_printable(character) || (blank && !one_line))
      out += character;
    else
      out += blank ? ' ' : '?';
    at = end;
  }
  return out;
}

}  // namespace orrery::base
