// Categories, decompositions and cases are libutf8proc's (its Unicode version stands in docs/tokenizers.md). A table of
// the categories of all code points would be a megabyte; most text is ASCII, which is answered without asking.
//
// NFD: each character is replaced by its canonical decomposition; then runs of characters of combining class over 0 are
// sorted by class, stably. Sources: Unicode Standard Annex 15; places as Hugging Face's tokenizers give them: the n-th
// original character's place goes to the n-th character that begins a decomposition in the sorted order. Cost: linear,
// but for the sorting of runs.
#include "orrery/formats/tokenizer/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/tokenizer/unicode_versions.h"

namespace orrery::formats::tokenizer {
namespace {

utf8proc_category_t category(std::uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool between(std::uint32_t code, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t of = category(code);
  return of >= first && of <= last;
}

// Bytes of the sequence that begins with `lead`; 0 where none does.
std::size_t sequence_length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

std::uint32_t code_at(std::string_view text, std::size_t at, std::size_t length) {
  constexpr std::array<unsigned, 5> kLeadBits{0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t code = static_cast<unsigned char>(text[at]) & kLeadBits[length];
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  return code;
}

// What a character of a decomposition does to the characters it came from.
struct Part {
  std::uint32_t code = 0;
  int combining = 0;
  bool first = false;  // of its decomposition
};

int combining_class(utf8proc_int32_t code) {
  return changed_combining_class(static_cast<std::uint32_t>(code), utf8proc_get_property(code)->combining_class);
}

void add_decomposed(std::uint32_t code, bool compatible, std::vector<Part>& to) {
  if (code < (compatible ? 0xa0 : 0xc0) || !changed_decomposition(code)) {
    to.push_back({code, 0, true});
    return;
  }
  constexpr auto kCompatible = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  std::array<utf8proc_int32_t, 64> parts{};
  int boundary = 0;
  utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(), parts.size(),
                                                   compatible ? kCompatible : UTF8PROC_DECOMPOSE, &boundary);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    parts[0] = static_cast<utf8proc_int32_t>(code);
    count = 1;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    to.push_back({static_cast<std::uint32_t>(parts[i]), combining_class(parts[i]), i == 0});
}

}  // namespace

void append_characters(std::string_view text, std::size_t at, Characters& to) {
  to.reserve(to.size() + text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(static_cast<unsigned char>(text[i]));
    to.push_back(
        {code_at(text, i, length), static_cast<std::uint32_t>(at + i), static_cast<std::uint32_t>(at + i + length)});
    i += length;
  }
}

void append_utf8(std::uint32_t code, std::string& to) {
  if (code < 0x80) {
    to += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::array<unsigned, 4> kLead{0, 0xc0, 0xe0, 0xf0};
  to += static_cast<char>(kLead[static_cast<std::size_t>(more)] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) to += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(static_cast<unsigned char>(text[i]));
    bool good = length > 0 && length <= text.size() - i;
    for (std::size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xc0U) == 0x80;
    if (good && length > 2) {
      const std::uint32_t code = code_at(text, i, length);
      good = code >= (length == 3 ? 0x800U : 0x10000U) && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    }
    if (!good) return i;
    i += length;
  }
  return std::nullopt;
}

void check_text(std::string_view text) {
  if (text.size() > kMostTextBytes)
    base::fail("O1625",
               fmt::format("the text has {} bytes, and {} are tokenized at a time", text.size(), kMostTextBytes), {},
               "split it");
  if (const auto bad = first_bad_byte(text))
    base::fail("O1625",
               fmt::format("the text is not UTF-8: byte {} (0x{:02x}) begins no character", *bad + 1,
                           static_cast<unsigned char>(text[*bad])),
               {}, "convert it, for example with iconv -t UTF-8");
}

bool is_white_space(std::uint32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 9 && code <= 13);
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool is_letter(std::uint32_t code) {
  if (code < 0x80) return (code | 0x20U) >= 'a' && (code | 0x20U) <= 'z';
  return changed_letter(code, between(code, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO));
}

bool is_number(std::uint32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  return changed_number(code, between(code, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO));
}

bool is_punctuation(std::uint32_t code) {
  return changed_punctuation(code, between(code, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO));
}

bool is_nonspacing_mark(std::uint32_t code) {
  return code >= 0x300 && changed_mark(code, category(code) == UTF8PROC_CATEGORY_MN);
}

bool is_word(std::uint32_t code) {
  if (code < 0x80) return is_letter(code) || is_number(code) || code == '_';
  const utf8proc_category_t of = category(code);
  return (of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_ND) || of == UTF8PROC_CATEGORY_PC ||
         of == UTF8PROC_CATEGORY_NL || code == 0x200c || code == 0x200d;
}

bool is_other(std::uint32_t code) {
  if (code < 0x80) return code < 0x20 || code == 0x7f;
  return changed_other(code, between(code, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO));
}

bool is_combining(std::uint32_t code) {
  return code >= 0x300 && combining_class(static_cast<utf8proc_int32_t>(code)) > 0;
}

void decompose(Characters& text, bool compatible) {
  const std::uint32_t least = compatible ? 0xa0 : 0xc0;  // below it all stays
  if (std::all_of(text.begin(), text.end(), [&](const Character& one) { return one.code < least; })) return;
  std::vector<Part> parts;
  parts.reserve(text.size());
  for (const Character& one : text) add_decomposed(one.code, compatible, parts);
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t end = i;
    while (end < parts.size() && parts[end].combining > 0) ++end;
    std::stable_sort(parts.begin() + static_cast<std::ptrdiff_t>(i), parts.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Part& a, const Part& b) { return a.combining < b.combining; });
    i = end + 1;
  }
  Characters out;
  out.reserve(parts.size());
  std::size_t used = 0;
  for (const Part& part : parts) {
    if (part.first) ++used;
    const Character place = used > 0 ? text[used - 1] : Character{};
    out.push_back({part.code, place.begin, place.end});
  }
  text = std::move(out);
}

void to_lower_case(Characters& text) {
  constexpr std::uint32_t kDottedCapital = 0x130;  // the one character whose lower case is two
  bool dotted = false;
  for (Character& one : text) {
    if (one.code < 0x80) {
      if (one.code >= 'A' && one.code <= 'Z') one.code |= 0x20;
    } else if (one.code == kDottedCapital) {
      dotted = true;
    } else {
      one.code = changed_lower_case(
          one.code, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(one.code))));
    }
  }
  if (!dotted) return;
  Characters out;
  for (const Character& one : text) {
    out.push_back(one);
    if (one.code != kDottedCapital) continue;
    out.back().code = 'i';
    out.push_back({0x307, one.begin, one.end});
  }
  text = std::move(out);
}

}  // namespace orrery::formats::tokenizer
