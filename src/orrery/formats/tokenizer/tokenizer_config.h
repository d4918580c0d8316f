// tokenizer_config.json: what stands beside a tokenizer's own files. The keys that are asked for matter.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/tokenizer/tokenizer.h"

namespace orrery::formats::tokenizer {

class Config {
 public:
  // `file` may be null: nothing is said then. Throws InputError (O1623) where it is no JSON.
  Config(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found);

  std::optional<bool> truth(const char* key) const;
  // A text, or the `content` of an object.
  std::string token(const char* key, const char* otherwise) const;
  // Null: absent, or null.
  const json::Node* member(const char* key) const;
  // `model_max_length`, where it is a length; users write 10^30 for none.
  std::optional<std::size_t> most_tokens() const;

 private:
  json::Node root_;
  base::Diagnostics& found_;
};

struct Special {
  const char* key;
  const char* name;
  bool needed;
  bool lstrip = false;
};

// The special tokens that the vocabulary has, in `to`; their ids by the order of `wanted`.
std::vector<Id> add_special(const std::vector<Special>& wanted, const Config& config, const Vocabulary& vocabulary,
                            const base::Location& where, base::Diagnostics& found, std::vector<AddedToken>& to);

// Warns (O1627) of what tokenizer_config.json says otherwise than the tokenizer.json beside it, which counts.
void compare_with(const Description& is, const Config& config, base::Diagnostics& found);

// Tokens that tokenizer_config.json adds to a vocabulary (`added_tokens_decoder`), but those that are there.
void add_declared(const Config& config, const Vocabulary& vocabulary, base::Diagnostics& found,
                  std::vector<AddedToken>& to);

}  // namespace orrery::formats::tokenizer
