// A text as code points that know where they stood in the original.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::formats::tokenizer {

struct Character {
  std::uint32_t code = 0;
  std::uint32_t begin = 0, end = 0;  // bytes of the original
};
using Characters = std::vector<Character>;

// What normalising may turn a text into, at most, is counted in 32 bits.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 28;

// Adds the characters of `text`, which is UTF-8, whose first byte stands at `at`.
void append_characters(std::string_view text, std::size_t at, Characters& to);
void append_utf8(std::uint32_t code, std::string& to);

// Where bytes begin that are no character of UTF-8; nothing: nowhere.
std::optional<std::size_t> first_bad_byte(std::string_view text);
// Throws InputError (O1625) where the text is no UTF-8 or longer than kMostTextBytes.
void check_text(std::string_view text);

// Classes of code points, by Unicode's general category.
bool is_white_space(std::uint32_t code);  // the property White_Space
bool is_letter(std::uint32_t code);
bool is_number(std::uint32_t code);
bool is_punctuation(std::uint32_t code);
bool is_nonspacing_mark(std::uint32_t code);
bool is_word(std::uint32_t code);   // letters, marks, decimal digits, connecting punctuation
bool is_other(std::uint32_t code);  // control, format, private use

bool is_combining(std::uint32_t code);  // of a combining class over 0

// The canonical decomposition (NFD; NFKD where it is `compatible`), and the lower case of each character by itself. New
// characters have the place of what they are made of.
void decompose(Characters& text, bool compatible = false);
void to_lower_case(Characters& text);

}  // namespace orrery::formats::tokenizer
