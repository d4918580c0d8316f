// Source: what Hugging Face's tokenizers do (added_vocabulary.rs): the leftmost match, the longest of those; a match
// within a word is passed over where `single_word` is asked for; white space beside it is taken as far as the token
// before.
#include "orrery/formats/tokenizer/added_tokens.h"

#include <algorithm>

namespace orrery::formats::tokenizer {

void AddedTokens::add(const AddedToken& token, bool lower_cased) {
  Characters characters;
  append_characters(token.content, 0, characters);
  if (lower_cased) to_lower_case(characters);
  Entry entry{token, {}};
  for (const Character& one : characters) entry.codes.push_back(one.code);
  if (entry.codes.empty()) return;
  by_first_[entry.codes[0] % by_first_.size()].push_back(tokens_.size());
  tokens_.push_back(std::move(entry));
}

const AddedTokens::Entry* AddedTokens::match(Word text, std::size_t at) const {
  const Entry* longest = nullptr;
  for (const std::size_t index : by_first_[text[at].code % by_first_.size()]) {
    const Entry& entry = tokens_[index];
    if (entry.codes.size() > text.size() - at || (longest != nullptr && entry.codes.size() <= longest->codes.size()))
      continue;
    if (std::equal(entry.codes.begin(), entry.codes.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   [](std::uint32_t code, const Character& one) { return code == one.code; }))
      longest = &entry;
  }
  return longest;
}

void AddedTokens::split(Word text, const std::function<void(Word)>& between,
                        const std::function<void(Word, const AddedToken&)>& token) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    const Entry* const found = match(text, at);
    if (found == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + found->codes.size();
    at = end;
    if (found->token.single_word &&
        ((begin > 0 && is_word(text[begin - 1].code)) || (end < text.size() && is_word(text[end].code))))
      continue;
    while (found->token.lstrip && begin > done && is_white_space(text[begin - 1].code)) --begin;
    while (found->token.rstrip && end < text.size() && is_white_space(text[end].code)) ++end;
    if (begin < done) begin = done;
    if (begin > done) between(text.subspan(done, begin - done));
    token(text.subspan(begin, end - begin), found->token);
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size()) between(text.subspan(done));
}

}  // namespace orrery::formats::tokenizer
