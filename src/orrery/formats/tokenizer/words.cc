// BERT (google-research/bert, tokenization.py; Hugging Face's BertNormalizer, BertPreTokenizer): control characters go,
// white space becomes blanks, ideographs stand alone, accents are non-spacing marks after decomposition. Any ASCII
// character that is neither letter, digit nor blank is punctuation.
//
// GPT-2 (openai/gpt-2, encoder.py) splits by an expression, which takes the first alternative that fits:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Of white space before a word, the last character is left for the word (which takes it if it is a blank).
//
// Cost: linear.
#include "orrery/formats/tokenizer/words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace orrery::formats::tokenizer {
namespace {

bool is_ideograph(std::uint32_t code) {
  if (code < 0x3400) return false;
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
         (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
         (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
         (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

bool is_bert_punctuation(std::uint32_t code) {
  if (code < 0x80)
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
           (code >= 123 && code <= 126);
  return is_punctuation(code);
}

bool is_blank(std::uint32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || is_white_space(code);
}

void clean(Characters& text) {
  const auto gone = [](const Character& one) {
    if (one.code == '\t' || one.code == '\n' || one.code == '\r') return false;
    return one.code == 0xfffd || is_other(one.code);
  };
  text.erase(std::remove_if(text.begin(), text.end(), gone), text.end());
  for (Character& one : text)
    if (is_blank(one.code)) one.code = ' ';
}

void set_ideographs_apart(Characters& text) {
  if (std::none_of(text.begin(), text.end(), [](const Character& one) { return is_ideograph(one.code); })) return;
  Characters out;
  out.reserve(3 * text.size());
  for (const Character& one : text) {
    if (!is_ideograph(one.code)) {
      out.push_back(one);
      continue;
    }
    out.push_back({' ', one.begin, one.end});
    out.push_back(one);
    out.push_back({' ', one.begin, one.end});
  }
  text = std::move(out);
}

enum class Class { kLetter, kNumber, kSpace, kOther };

Class found_class(std::uint32_t code) {
  return is_letter(code)        ? Class::kLetter
         : is_number(code)      ? Class::kNumber
         : is_white_space(code) ? Class::kSpace
                                : Class::kOther;
}

Class class_of(std::uint32_t code) {
  static const std::array<Class, 128> ascii = [] {
    std::array<Class, 128> classes{};
    for (std::uint32_t i = 0; i < classes.size(); ++i) classes[i] = found_class(i);
    return classes;
  }();
  return code < ascii.size() ? ascii[code] : found_class(code);
}

// Characters of a contraction's end ("'ll") at `at`; 0 where there is none.
std::size_t contraction(Word text, std::size_t at) {
  if (text[at].code != '\'') return 0;
  constexpr std::array<std::string_view, 7> kEnds{"s", "t", "re", "ve", "m", "ll", "d"};
  for (const std::string_view end : kEnds) {
    std::size_t same = 0;
    while (same < end.size() && at + 1 + same < text.size() &&
           text[at + 1 + same].code == static_cast<unsigned char>(end[same]))
      ++same;
    if (same == end.size()) return 1 + same;
  }
  return 0;
}

}  // namespace

void normalize(const BertNormalizer& how, Characters& text) {
  if (how.clean_text) clean(text);
  if (how.handle_chinese_chars) set_ideographs_apart(text);
  if (how.strip_accents) {
    decompose(text);
    text.erase(
        std::remove_if(text.begin(), text.end(), [](const Character& one) { return is_nonspacing_mark(one.code); }),
        text.end());
  }
  if (how.lowercase) to_lower_case(text);
}

void normalize(const PlainText& how, Characters& text) {
  if (how.quotes) {
    Characters out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      out.push_back(text[i]);
      const std::uint32_t code = text[i].code;
      if ((code != '`' && code != '\'') || i + 1 == text.size() || text[i + 1].code != code) continue;
      out.back().code = '"';
      out.back().end = text[++i].end;
    }
    text = std::move(out);
  }
  if (how.strip_accents) {
    decompose(text, true);
    text.erase(std::remove_if(text.begin(), text.end(), [](const Character& one) { return is_combining(one.code); }),
               text.end());
  }
  if (how.lowercase) to_lower_case(text);
}

void bert_words(Word text, const EachWord& each) {
  std::size_t begin = 0;
  const auto end_word = [&](std::size_t end, std::size_t next) {
    if (end > begin) each(text.subspan(begin, end - begin));
    begin = next;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_white_space(text[i].code)) {
      end_word(i, i + 1);
    } else if (is_bert_punctuation(text[i].code)) {
      end_word(i, i);
      end_word(i + 1, i + 1);
    }
  }
  end_word(text.size(), text.size());
}

void gpt2_words(Word text, const EachWord& each) {
  const std::size_t size = text.size();
  for (std::size_t at = 0; at < size;) {
    std::size_t end = at + contraction(text, at);
    if (end == at) {
      // A blank goes with what follows, unless that is white space.
      const std::size_t first = text[at].code == ' ' && at + 1 < size ? at + 1 : at;
      Class of = class_of(text[first].code);
      if (of == Class::kSpace) of = class_of(text[at].code);
      end = of == Class::kSpace ? at : first;
      while (end < size && class_of(text[end].code) == of) ++end;
      if (of == Class::kSpace && end < size && end - at > 1) --end;
    }
    each(text.subspan(at, end - at));
    at = end;
  }
}

}  // namespace orrery::formats::tokenizer
