// Debian's libsentencepiece, which is taken in when a model asks for it and not before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::tokenizer {

class SentencePieceLibrary {
 public:
  struct Piece {
    std::int32_t id = 0;
    std::size_t begin = 0, end = 0;  // bytes of the text
  };

  // A model's bytes, which read_sentence_pieces found good. Throws InputError: O1629 (no library), O1630 (what the
  // library says of the model).
  SentencePieceLibrary(std::string_view model, const base::Location& where);
  ~SentencePieceLibrary();
  SentencePieceLibrary(const SentencePieceLibrary&) = delete;
  SentencePieceLibrary& operator=(const SentencePieceLibrary&) = delete;

  // Threads may share it.
  std::vector<Piece> encode(std::string_view text) const;
  std::string decode(const std::vector<std::int32_t>& ids) const;

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace orrery::formats::tokenizer
