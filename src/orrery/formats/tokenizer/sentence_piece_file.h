// A model of SentencePiece as it lies in its file (`spiece.model`, `tokenizer.model`): what Orrery must know of it, and
// whether its library can be trusted with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::tokenizer {

struct SentencePieces {
  enum Kind { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    int kind = kNormal;
  };
  std::vector<Piece> pieces;  // by their ids
};

// Adds errors (O1630) for everything that the library would not survive or would read as something else.
SentencePieces read_sentence_pieces(std::string_view bytes, const base::Location& where, base::Diagnostics& found);

}  // namespace orrery::formats::tokenizer
