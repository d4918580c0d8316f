// Text to ids and back, as Hugging Face's tokenizers do it for BERT's WordPiece and GPT-2's byte-level pairs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/tokenizer/added_tokens.h"
#include "orrery/formats/tokenizer/models.h"

namespace orrery::formats::tokenizer {

struct Token {
  Id id = 0;
  int type = 0;
  int sequence = 0;                // 0: the text; 1: the second of a pair; -1: neither, like [CLS]
  std::size_t begin = 0, end = 0;  // bytes of its sequence
};
using Encoding = std::vector<Token>;

enum class Truncate { kNo, kLongestFirst, kOnlyFirst, kOnlySecond };

struct Limits {
  Truncate truncate = Truncate::kNo;
  std::size_t most_tokens = 512;  // special ones included
  std::size_t stride = 0;         // tokens that a window shares with the one before (`doc_stride`)
};

// What stands around the texts: special tokens (`sequence` -1) and places for a text (0 or 1), with types.
struct TemplateItem {
  int sequence = -1;
  Id id = 0;
  int type = 0;
};

// A tokenizer as its files describe it. Plain data until it is given to Tokenizer.
struct Description {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<Model> model;
  bool byte_level = false;   // else BERT's words
  bool whole_texts = false;  // the model takes texts as they are, and decodes them
  std::optional<BertNormalizer> normalizer;
  std::optional<PlainText> plain;
  bool add_prefix_space = false;
  bool trim_offsets = false;
  bool trimmed_prefix_space = true;  // what trimming of offsets takes add_prefix_space to be
  std::vector<TemplateItem> single{{0, 0, 0}}, pair{{0, 0, 0}, {1, 0, 1}};
  std::vector<AddedToken> added;
  std::string continuing = "##";           // of WordPiece, for decoding
  bool clean_up = true;                    // of blanks before punctuation in what was decoded
  Limits limits;                           // of the file's `truncation`
  std::optional<std::size_t> most_tokens;  // `model_max_length` of tokenizer_config.json
  std::string mask;                        // its `mask_token`
};

// Safe for use by several threads.
class Tokenizer {
 public:
  explicit Tokenizer(Description description);

  // The windows of a text or a pair: one, or with a limit as many as hold all tokens of what is cut; without
  // special tokens where `special` is false. Throws InputError: O1625 (no UTF-8), O1626 (limits that leave no room).
  std::vector<Encoding> encode(std::string_view text, std::optional<std::string_view> second, const Limits& limits,
                               bool special = true) const;
  Encoding encode(std::string_view text) const { return encode(text, {}, {}).front(); }

  // The text of ids. Throws InputError (O1628) where an id has no token.
  std::string decode(const std::vector<Id>& ids, bool skip_special = true) const;

  const Vocabulary& vocabulary() const { return *is_.vocabulary; }
  const Limits& limits() const { return is_.limits; }
  std::optional<std::size_t> most_tokens() const { return is_.most_tokens; }
  std::optional<Id> find(std::string_view token) const;  // added tokens, too
  std::vector<Id> special() const;                       // of added tokens
  std::optional<Id> mask() const;                        // the token of words that are to be found again
  bool knows(Id id) const { return added_by_id_.count(id) > 0 || is_.vocabulary->text(id) != nullptr; }

 private:
  void tokenize(std::string_view text, Encoding& to) const;
  std::string decode_whole(const std::vector<Id>& ids, bool skip_special) const;
  void trim_offsets(Token& token, std::string_view text, bool is_first) const;

  Description is_;
  AddedTokens raw_, normalized_;
  std::unordered_map<std::string, Id, TextHash, std::equal_to<>> added_ids_;
  std::unordered_map<Id, const AddedToken*> added_by_id_;
};

// Offsets in code points, as Python counts them, of the tokens of one sequence; (0, 0) for others.
std::vector<std::pair<std::size_t, std::size_t>> code_points(std::string_view text, const Encoding& tokens,
                                                             int sequence);

// Lengths that two sequences of tokens keep, by Hugging Face's rule. Throws InputError (O1626).
std::pair<std::size_t, std::size_t> kept_lengths(std::size_t first, std::size_t second, bool pair, Truncate truncate,
                                                 std::size_t room);

}  // namespace orrery::formats::tokenizer
