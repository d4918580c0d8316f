// How a word becomes tokens: WordPiece and byte-level byte pair encoding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/formats/tokenizer/words.h"

namespace orrery::formats::tokenizer {

using Id = std::int32_t;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Tokens and their ids, both ways.
class Vocabulary {
 public:
  // False where the token is there already.
  bool add(const std::string& token, Id id);
  std::optional<Id> find(std::string_view token) const;
  const std::string* text(Id id) const;  // null: none
  std::size_t size() const { return ids_.size(); }
  std::size_t longest() const { return longest_; }  // bytes of a token

 private:
  std::unordered_map<std::string, Id, TextHash, std::equal_to<>> ids_;
  std::unordered_map<Id, const std::string*> texts_;  // keys of ids_, which stay where they are
  std::size_t longest_ = 0;
};

struct Piece {
  Id id = 0;
  std::uint32_t begin = 0, end = 0;  // bytes of the original
};

class Model {
 public:
  virtual ~Model() = default;
  // Adds the word's tokens. Threads may share a model.
  virtual void tokenize(Word word, std::vector<Piece>& to) const = 0;
  // The text of ids, of models that say it themselves.
  virtual std::string decode(const std::vector<Id>&) const { return {}; }
};

struct WordPiece {
  Id unknown = 0;
  std::string continuing = "##";
  std::size_t most_characters = 100;  // longer words are unknown
};
std::unique_ptr<Model> word_piece(std::shared_ptr<const Vocabulary> vocabulary, const WordPiece& how);

struct Merge {
  Id left = 0, right = 0, made = 0;
};
// Merges in the order of preference. `unknown`: of bytes without a token; nothing: they are left out.
std::unique_ptr<Model> byte_pairs(std::shared_ptr<const Vocabulary> vocabulary, const std::vector<Merge>& merges,
                                  std::optional<Id> unknown);

// The character that stands for a byte in a byte-level vocabulary, and back (-1: none).
std::uint32_t character_of_byte(unsigned char byte);
int byte_of_character(std::uint32_t code);

}  // namespace orrery::formats::tokenizer
