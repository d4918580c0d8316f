// Small tokenizers: BERT's with words of several scripts, a byte-level one with a few merges.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/tokenizer/tokenizer_reader.h"

namespace orrery::formats::tokenizer {

inline const std::string kWords =
    "the quick brown fox jump ##s ##ed ##ing over lazy dog ' - , . ! ? cafe resume strasse do don ##n ##t t un ##aff "
    "##able hello world \344\275\240 \345\245\275 \344\270\226 \347\225\214 "
    "\320\277\321\200\320\270\320\262\320\265\321\202 \320\274\320\270\321\200 \316\276 ##\316\277 ##\317\203 "
    "##\317\202 \317\203 \320\270 ##\320\270 naive i ##i ##stanbul ##\314\207 \302\275 \302\262 \342\204\242 3 ##14 _ "
    "x ##x \357\254\201";

inline const std::string kMerges =
    "t h\nth e\nh e\n\304\240 t\n\304\240t he\ni n\nin g\n\304\240 \304\240\nl l\nhe ll\nhell o\n\304\240 hello\n' "
    "s\n' ll\n\304\240 w\no r\n\304\240w or\n\304\240wor l\n\304\240worl d\n\303\203 \302\251\n\303\220 "
    "\302\270\n\304\240 \303\220\n1 2\n12 3\n. .\n.. .\ne r\ner e\n\304\240 th\n\304\240th ere\n\303\242 \304\242\n";

// [PAD], [UNK], [CLS], [SEP], [MASK] and the words: a line for each.
inline std::string word_lines() {
  std::string lines = "[PAD] [UNK] [CLS] [SEP] [MASK] " + kWords + " ";
  for (char& one : lines)
    if (one == ' ') one = '\n';
  return lines;
}

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char one : text) {
    if (one == '"' || one == '\\') out += '\\';
    out += one;
  }
  return out + "\"";
}

// The 256 bytes, what the merges make, <s>, </s>, <mask>: a JSON object.
inline std::string byte_vocabulary(const std::string& merges = kMerges) {
  std::string json = "{";
  int id = 0;
  std::vector<std::string> seen;
  const auto add = [&](const std::string& token) {
    if (std::find(seen.begin(), seen.end(), token) != seen.end()) return;
    seen.push_back(token);
    json += (id > 0 ? "," : "") + quoted(token) + ":" + std::to_string(id);
    ++id;
  };
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character_of_byte(static_cast<unsigned char>(byte)), character);
    add(character);
  }
  std::string token;
  for (const char one : merges) {
    if (one == '\n')
      add(token), token.clear();
    else if (one != ' ')
      token += one;
  }
  for (const char* const special : {"<s>", "</s>", "<mask>"}) add(special);
  return json + "}";
}

inline Tokenizer words(const std::string& config = "{}") {
  base::Diagnostics warnings;
  return read_word_piece(base::source(word_lines(), "vocab.txt"), base::source(config, "tokenizer_config.json"),
                         warnings);
}

inline Tokenizer pairs(const std::string& config = "{}", const std::string& merges = kMerges) {
  base::Diagnostics warnings;
  return read_byte_pairs(base::source(byte_vocabulary(merges), "vocab.json"), base::source(merges, "merges.txt"),
                         base::source(config, "tokenizer_config.json"), warnings);
}

}  // namespace orrery::formats::tokenizer
