// Tokens that are found in the text before it is split: [MASK], <s>, and what users add.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/formats/tokenizer/models.h"

namespace orrery::formats::tokenizer {

struct AddedToken {
  std::string content;
  Id id = 0;
  bool single_word = false;  // not within a word
  bool lstrip = false;       // takes white space before it
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalised text
  bool special = false;      // left out by decoding
};

class AddedTokens {
 public:
  void add(const AddedToken& token, bool lower_cased);  // by how normalising changes the content
  bool empty() const { return tokens_.empty(); }

  // Calls in turn for the parts of the text between tokens, and for tokens. Of tokens that begin at one place the
  // longest is meant. O(text times the length of the longest token).
  void split(Word text, const std::function<void(Word)>& between,
             const std::function<void(Word, const AddedToken&)>& token) const;

 private:
  struct Entry {
    AddedToken token;
    std::vector<std::uint32_t> codes;
  };
  const Entry* match(Word text, std::size_t at) const;

  std::vector<Entry> tokens_;  // the longest first
  std::vector<std::vector<std::size_t>> by_first_ = std::vector<std::vector<std::size_t>>(256);
};

}  // namespace orrery::formats::tokenizer
