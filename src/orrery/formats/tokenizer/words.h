// What is done to a text before its words are looked up: normalising and splitting, as BERT and GPT-2 do it.
#pragma once

#include <functional>
#include <span>

#include "orrery/formats/tokenizer/characters.h"

namespace orrery::formats::tokenizer {

struct BertNormalizer {
  bool clean_text = true;            // control characters away, white space to blanks
  bool handle_chinese_chars = true;  // blanks around each ideograph
  bool strip_accents = true;
  bool lowercase = true;
};
void normalize(const BertNormalizer& how, Characters& text);

// What ALBERT and XLNet do before SentencePiece.
struct PlainText {
  bool quotes = true;         // `` and '' become "
  bool strip_accents = true;  // compatible decomposition, without combining characters
  bool lowercase = false;
};
void normalize(const PlainText& how, Characters& text);

using Word = std::span<const Character>;
using EachWord = std::function<void(Word)>;

// BERT's words: between white space, each punctuation character by itself.
void bert_words(Word text, const EachWord& each);

// GPT-2's words: a contraction's end, letters, digits, other characters, each with a blank before, or white space.
void gpt2_words(Word text, const EachWord& each);

}  // namespace orrery::formats::tokenizer
