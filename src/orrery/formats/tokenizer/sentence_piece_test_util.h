// Small models of SentencePiece, written as its files are.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/formats/tokenizer/sentence_piece_file.h"
#include "orrery/formats/tokenizer/tokenizer_reader.h"

namespace orrery::formats::tokenizer {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80U);
  return out + static_cast<char>(value);
}
inline std::string bytes_field(unsigned number, const std::string& bytes) {
  return varint(number << 3 | 2U) + varint(bytes.size()) + bytes;
}
inline std::string fixed_field(unsigned number, std::uint32_t bits) {
  std::string out = varint(number << 3 | 5U);
  for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(bits >> (8 * i));
  return out;
}

struct PieceModel {
  std::vector<SentencePieces::Piece> pieces{{"<unk>", 0, SentencePieces::kUnknown}};
  int kind = 1;     // 1: unigrams, 2: byte pairs
  std::string map;  // of characters

  PieceModel& add(const std::string& text, float score, int of = SentencePieces::kNormal) {
    pieces.push_back({text, score, of});
    return *this;
  }
  std::string bytes() const {
    std::string out;
    for (const SentencePieces::Piece& piece : pieces)
      out += bytes_field(1, bytes_field(1, piece.text) + fixed_field(2, std::bit_cast<std::uint32_t>(piece.score)) +
                                varint(3U << 3) + varint(static_cast<std::uint64_t>(piece.kind)));
    out += bytes_field(2, varint(3U << 3) + varint(static_cast<std::uint64_t>(kind)));
    return out + bytes_field(3, bytes_field(1, "test") + (map.empty() ? "" : bytes_field(2, map)));
  }
  Tokenizer read(const std::string& config = "{}") const {
    base::Diagnostics warnings;
    return read_sentence_piece(
        "spiece.model", bytes(),
        std::make_shared<const base::SourceFile>(base::SourceFile{"tokenizer_config.json", config}), warnings);
  }
};

// SentencePiece's blank.
inline const std::string kBlank = "\342\226\201";

}  // namespace orrery::formats::tokenizer
