// A text is taken apart in the order of Hugging Face's tokenizers: added tokens found in the raw text; between them the
// text is normalised; added tokens found in that; between them words; of each word the model's tokens. Every character
// carries the bytes that it came from, so that a token's place is that of its first and last character. Cost: linear in
// the text.
#include "orrery/formats/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace orrery::formats::tokenizer {
namespace {

// The byte `count` characters after `at`, and before it; the latter nothing where there are not as many.
std::size_t after(std::string_view text, std::size_t at, std::size_t count) {
  for (; count > 0 && at < text.size(); --count) do
      ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80);
  return at;
}
std::optional<std::size_t> before(std::string_view text, std::size_t at, std::size_t count) {
  for (; count > 0 && at > 0; --count) do
      --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80);
  return count == 0 ? std::optional(at) : std::nullopt;
}

// A byte-level token's place without the blanks at its ends, which `written` has as characters. As the original does
// it, the first token of a window, or one at the text's start, keeps a single blank, which may have been put before it.
void trim(Token& token, std::string_view text, std::string_view written, bool keeps_first, bool is_first) {
  constexpr std::uint32_t kBlank = 0x120;  // which stands for one
  Characters characters;
  append_characters(written, 0, characters);
  const auto visible = [](const Character& one) { return one.code != kBlank && !is_white_space(one.code); };
  const auto leading =
      static_cast<std::size_t>(std::find_if(characters.begin(), characters.end(), visible) - characters.begin());
  const auto trailing =
      static_cast<std::size_t>(std::find_if(characters.rbegin(), characters.rend(), visible) - characters.rbegin());
  const bool kept = leading == 1 && keeps_first && (is_first || token.begin == 0);
  if (!kept) token.begin = std::min(after(text, token.begin, leading), token.end);
  if (const auto end = before(text, token.end, trailing)) token.end = std::max(*end, token.begin);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The decoder of WordPiece, with its cleaning up, token by token as the original does it.
std::string decode_word_pieces(const std::vector<std::string_view>& tokens, const std::string& continuing,
                               bool clean_up) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCleaner{{{" .", "."},
                                                                                    {" ?", "?"},
                                                                                    {" !", "!"},
                                                                                    {" ,", ","},
                                                                                    {" ' ", "'"},
                                                                                    {" n't", "n't"},
                                                                                    {" 'm", "'m"},
                                                                                    {" do not", " don't"},
                                                                                    {" 's", "'s"},
                                                                                    {" 've", "'ve"},
                                                                                    {" 're", "'re"}}};
  std::string all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string text(tokens[i]);
    if (i > 0) {
      if (!continuing.empty() && text.rfind(continuing, 0) == 0)
        text.erase(0, continuing.size());
      else
        text.insert(0, 1, ' ');
    }
    if (clean_up)
      for (const auto& [from, to] : kCleaner) replace_all(text, from, to);
    all += text;
  }
  return all;
}

// Bytes that are no UTF-8 become U+FFFD, one for each longest part that could begin a character.
std::string lossy(const std::string& bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    std::size_t good = length > 0 ? 1 : 0;
    for (; good > 0 && good < length && i + good < bytes.size(); ++good) {
      const auto next = static_cast<unsigned char>(bytes[i + good]);
      const unsigned least = good > 1 ? 0x80U : lead == 0xe0 ? 0xa0U : lead == 0xf0 ? 0x90U : 0x80U;
      const unsigned most = good > 1 ? 0xbfU : lead == 0xed ? 0x9fU : lead == 0xf4 ? 0x8fU : 0xbfU;
      if (next < least || next > most) break;
    }
    if (good > 0 && good == length)
      out.append(bytes, i, length);
    else
      out += "\xef\xbf\xbd";
    i += std::max<std::size_t>(1, good);
  }
  return out;
}

std::string decode_bytes(const std::vector<std::string_view>& tokens) {
  std::string bytes;
  for (const std::string_view token : tokens) {
    Characters characters;
    append_characters(token, 0, characters);
    std::string part;
    for (const Character& one : characters) {
      const int byte = byte_of_character(one.code);
      if (byte < 0) {  // no token of the model's, but one that was added: it stands for itself
        part = token;
        break;
      }
      part += static_cast<char>(byte);
    }
    bytes += part;
  }
  return lossy(bytes);
}

std::size_t special_count(const std::vector<TemplateItem>& around) {
  return static_cast<std::size_t>(
      std::count_if(around.begin(), around.end(), [](const TemplateItem& item) { return item.sequence < 0; }));
}

// Begin and end of the windows of `size` tokens, each of at most `most`, of which `stride` are shared.
std::vector<std::pair<std::size_t, std::size_t>> windows(std::size_t size, std::size_t most, std::size_t stride) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  if (size <= most || most == 0) return {{0, std::min(size, most)}};
  if (stride >= most)
    base::fail("O1626", fmt::format("a stride of {} tokens leaves no room for others in windows of {}", stride, most),
               {}, "windows must be longer than what they share");
  for (std::size_t begin = 0;; begin += most - stride) {
    out.emplace_back(begin, std::min(begin + most, size));
    if (out.back().second == size) return out;
  }
}

}  // namespace

Tokenizer::Tokenizer(Description description) : is_(std::move(description)) {
  for (AddedToken& token : is_.added) {
    (token.normalized ? normalized_ : raw_).add(token, token.normalized && is_.normalizer && is_.normalizer->lowercase);
    added_ids_.emplace(token.content, token.id);
    added_by_id_.emplace(token.id, &token);
  }
}

std::optional<Id> Tokenizer::find(std::string_view token) const {
  const auto added = added_ids_.find(token);
  return added == added_ids_.end() ? is_.vocabulary->find(token) : std::optional(added->second);
}

std::vector<Id> Tokenizer::special() const {
  std::vector<Id> ids;
  for (const AddedToken& token : is_.added)
    if (token.special) ids.push_back(token.id);
  return ids;
}

std::optional<Id> Tokenizer::mask() const {
  if (!is_.mask.empty()) return find(is_.mask);
  for (const char* const usual : {"[MASK]", "<mask>"})
    if (const auto id = find(usual)) return id;
  return std::nullopt;
}

void Tokenizer::tokenize(std::string_view text, Encoding& to) const {
  std::vector<Piece> pieces;
  const auto add = [&](Word word) {
    pieces.clear();
    is_.model->tokenize(word, pieces);
    for (const Piece& piece : pieces) to.push_back({piece.id, 0, 0, piece.begin, piece.end});
  };
  const auto found = [&](Word where, const AddedToken& token) {
    to.push_back({token.id, 0, 0, where.front().begin, where.back().end});
  };
  Characters prefixed;
  const auto split_words = [&](Word part) {
    if (is_.whole_texts) return add(part);
    if (!is_.byte_level) return bert_words(part, add);
    if (is_.add_prefix_space && part.front().code != ' ') {
      prefixed.assign(1, {' ', part.front().begin, part.front().end});
      prefixed.insert(prefixed.end(), part.begin(), part.end());
      part = prefixed;
    }
    gpt2_words(part, add);
  };
  Characters raw, normal;
  append_characters(text, 0, raw);
  raw_.split(
      raw,
      [&](Word part) {
        if (is_.normalizer || is_.plain) {
          normal.assign(part.begin(), part.end());
          if (is_.normalizer) normalize(*is_.normalizer, normal);
          if (is_.plain) normalize(*is_.plain, normal);
          part = normal;
        }
        if (part.empty()) return;
        normalized_.split(part, split_words, found);
      },
      found);
}

void Tokenizer::trim_offsets(Token& token, std::string_view text, bool is_first) const {
  const std::string* const word = is_.vocabulary->text(token.id);
  // An added token may have taken white space beside it.
  const bool added = word == nullptr || added_by_id_.count(token.id) > 0;
  trim(token, text, added ? text.substr(token.begin, token.end - token.begin) : std::string_view(*word),
       is_.trimmed_prefix_space, is_first);
}

std::vector<Encoding> Tokenizer::encode(std::string_view text, std::optional<std::string_view> second,
                                        const Limits& limits, bool special) const {
  std::array<Encoding, 2> tokens;
  check_text(text);
  tokenize(text, tokens[0]);
  if (second) {
    check_text(*second);
    tokenize(*second, tokens[1]);
  }
  std::vector<TemplateItem> around = second ? is_.pair : is_.single;
  if (!special) {
    around = {{0, 0, 0}};
    if (second) around.push_back({1, 0, 0});
  }

  std::array<std::vector<std::pair<std::size_t, std::size_t>>, 2> parts{
      {{{0, tokens[0].size()}}, {{0, tokens[1].size()}}}};
  if (limits.truncate != Truncate::kNo) {
    const std::size_t taken = special_count(around);
    if (taken > limits.most_tokens)
      base::fail(
          "O1626",
          fmt::format("the limit of tokens is {}, and {} special ones stand around a text", limits.most_tokens, taken),
          {}, "allow more tokens");
    const auto [first, other] = kept_lengths(tokens[0].size(), tokens[1].size(), second.has_value(), limits.truncate,
                                             limits.most_tokens - taken);
    parts = {windows(tokens[0].size(), first, limits.stride), windows(tokens[1].size(), other, limits.stride)};
    // Where both are cut, there is no window of one beside all of the other.
    if (parts[0].size() > 1 && parts[1].size() > 1) {
      if (limits.stride > 0)
        base::fail("O1626", "windows of a pair need one text that is whole in each, and both are cut", {},
                   "cut only the first or only the second");
      parts[0].resize(1);
      parts[1].resize(1);
    }
  }
  std::vector<Encoding> out;
  for (std::size_t i = 0; i < std::max(parts[0].size(), parts[1].size()); ++i) {
    Encoding& window = out.emplace_back();
    for (const TemplateItem& item : around) {
      if (item.sequence < 0) {
        window.push_back({item.id, item.type, -1, 0, 0});
        continue;
      }
      const auto which = static_cast<std::size_t>(item.sequence);
      const auto& [begin, end] = parts[which][std::min(i, parts[which].size() - 1)];
      for (std::size_t k = begin; k < end; ++k) {
        window.push_back(tokens[which][k]);
        window.back().type = item.type;
        window.back().sequence = item.sequence;
        if (is_.trim_offsets) trim_offsets(window.back(), which == 0 ? text : *second, k == begin);
      }
    }
  }
  return out;
}

// Added tokens stand between what the model decodes.
std::string Tokenizer::decode_whole(const std::vector<Id>& ids, bool skip_special) const {
  std::string text;
  std::vector<Id> own;
  const auto append = [&](const std::string& part) {
    if (!text.empty() && !part.empty()) text += ' ';
    text += part;
  };
  for (const Id id : ids) {
    const auto added = added_by_id_.find(id);
    if (added == added_by_id_.end()) {
      if (is_.vocabulary->text(id) == nullptr) base::fail("O1628", fmt::format("no token has the id {}", id));
      own.push_back(id);
      continue;
    }
    if (skip_special && added->second->special) continue;
    append(is_.model->decode(own));
    own.clear();
    append(added->second->content);
  }
  append(is_.model->decode(own));
  return text;
}

std::string Tokenizer::decode(const std::vector<Id>& ids, bool skip_special) const {
  if (is_.whole_texts) return decode_whole(ids, skip_special);
  std::vector<std::string_view> tokens;
  for (const Id id : ids) {
    const auto added = added_by_id_.find(id);
    if (added != added_by_id_.end()) {
      if (!skip_special || !added->second->special) tokens.push_back(added->second->content);
      continue;
    }
    const std::string* const text = is_.vocabulary->text(id);
    if (text == nullptr) base::fail("O1628", fmt::format("no token has the id {}", id));
    tokens.push_back(*text);
  }
  return is_.byte_level ? decode_bytes(tokens) : decode_word_pieces(tokens, is_.continuing, is_.clean_up);
}

std::vector<std::pair<std::size_t, std::size_t>> code_points(std::string_view text, const Encoding& tokens,
                                                             int sequence) {
  std::vector<std::size_t> before(text.size() + 1, 0);  // code points before each byte
  for (std::size_t i = 0; i < text.size(); ++i)
    before[i + 1] = before[i] + ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80 ? 1 : 0);
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (const Token& token : tokens)
    out.push_back(token.sequence == sequence ? std::pair(before[token.begin], before[token.end])
                                             : std::pair<std::size_t, std::size_t>{0, 0});
  return out;
}

std::pair<std::size_t, std::size_t> kept_lengths(std::size_t first, std::size_t second, bool pair, Truncate truncate,
                                                 std::size_t room) {
  if (truncate == Truncate::kNo || first + second <= room) return {first, second};
  const std::size_t surplus = first + second - room;
  if (truncate == Truncate::kLongestFirst) {
    if (!pair) return {room, 0};
    const std::size_t least = std::min(first, second);
    // The longer one gives first; where the shorter one is longer than half, both get half.
    std::size_t small = least, large = least > room ? least : std::max(least, room - least);
    if (small + large > room) {
      small = room / 2;
      large = small + room % 2;
    }
    return first > second ? std::pair(large, small) : std::pair(small, large);
  }
  std::size_t& cut = truncate == Truncate::kOnlyFirst ? first : second;
  if (cut <= surplus)
    base::fail("O1626", fmt::format("{} tokens must go, and the text that may be cut has {}", surplus, cut), {},
               "allow more tokens, or cut the other text, too");
  cut -= surplus;
  return {first, second};
}

}  // namespace orrery::formats::tokenizer
