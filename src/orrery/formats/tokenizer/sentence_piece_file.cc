// The file is one protobuf message (google/sentencepiece, sentencepiece_model.proto): pieces with scores, how it was
// trained, and how texts are normalised: a map from sequences of bytes to others, kept as a double array (a trie whose
// node at `p` has its child of the byte `c` at `p ^ offset ^ c`) with the replacements, each ended by a zero, behind
// it. The library follows offsets without looking where they lead, so they are checked here: every offset of every
// node, which is more than texts can reach. Cost: linear in the file.
#include "orrery/formats/tokenizer/sentence_piece_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "orrery/formats/tokenizer/sentencepiece_wire.h"

namespace orrery::formats::tokenizer {
namespace {

// Numbers of the messages' fields.
constexpr std::uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
constexpr std::uint32_t kPieceText = 1, kPieceScore = 2, kPieceKind = 3;
constexpr std::uint32_t kModelType = 3, kCharacterMap = 2;

std::uint32_t unit_at(std::string_view units, std::size_t i) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k) value |= std::uint32_t{static_cast<unsigned char>(units[4 * i + k])} << (8 * k);
  return value;
}

// What is wrong with a map of characters; empty: nothing.
std::string wrong_with_map(std::string_view map) {
  if (map.empty()) return "";  // texts stay as they are
  if (map.size() < 8) return fmt::format("it has {} bytes", map.size());
  const std::size_t size = unit_at(map, 0);
  if (size < 4 || size % 4 != 0 || size >= map.size() - 4)
    return fmt::format("its trie of {} bytes does not fit into {}", size, map.size());
  const std::string_view trie = map.substr(4, size), replacements = map.substr(4 + size);
  const std::size_t units = size / 4;
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = unit_at(trie, i);
    if (unit >> 31 != 0) {  // a value
      if (i == 0) return "its trie has no root";
      if ((unit & 0x7fffffffU) >= replacements.size())
        return fmt::format("unit {} of its trie points to byte {} of {} of replacements", i, unit & 0x7fffffffU,
                           replacements.size());
      continue;
    }
    const std::size_t children = i ^ (std::size_t{unit >> 10} << ((unit & (1U << 9)) >> 6));
    if ((children | 0xffU) >= units) return fmt::format("unit {} of its trie points beyond the {} there are", i, units);
    const bool has_value = (unit & (1U << 8)) != 0;
    if (has_value && (unit_at(trie, children) & 0x7fffffffU) >= replacements.size())
      return fmt::format("the value of unit {} of its trie lies beyond its replacements", i);
  }
  return "";
}

class Reader {
 public:
  Reader(const base::Location& where, base::Diagnostics& found) : where_(where), found_(found) {}

  SentencePieces run(std::string_view bytes) {
    Wire wire(bytes);
    for (Wire::Field field; wire.next(field);) {
      if (field.number > kDenormalizer || field.number == 4) continue;
      if (field.type != Wire::kBytes)
        wrong(fmt::format("its field {} is not a message", field.number));
      else if (field.number == kPieces)
        piece(field.bytes);
      else if (field.number == kTrainer)
        trainer(field.bytes);
      else
        normalizer(field.bytes, field.number == kNormalizer ? "normaliser" : "denormaliser");
      if (found_.all().size() > kMostErrors) return std::move(out_);
    }
    if (wire.is_broken()) {
      wrong("it is cut off, or of another form");
      return std::move(out_);  // pieces that are not there are no error of their own
    }
    const auto unknown = std::count_if(out_.pieces.begin(), out_.pieces.end(), [](const SentencePieces::Piece& one) {
      return one.kind == SentencePieces::kUnknown;
    });
    if (unknown != 1) wrong(fmt::format("it has {} pieces for what is unknown, and one is needed", unknown));
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kMostErrors = 20;

  void wrong(const std::string& why) {
    found_.error("O1630", fmt::format("this is not a model of SentencePiece: {}", why), where_);
  }

  void piece(std::string_view bytes) {
    SentencePieces::Piece piece;
    Wire wire(bytes);
    bool good = true;
    for (Wire::Field field; wire.next(field);) {
      if (field.number == kPieceText)
        good = good && field.type == Wire::kBytes, piece.text = field.bytes;
      else if (field.number == kPieceScore)
        good = good && field.type == Wire::kFixed32,
        piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
      else if (field.number == kPieceKind)
        good = good && field.type == Wire::kVarint && field.value >= SentencePieces::kNormal &&
               field.value <= SentencePieces::kByte,
        piece.kind = static_cast<int>(field.value & 7U);
    }
    const std::size_t id = out_.pieces.size();
    if (wire.is_broken() || !good)
      wrong(fmt::format("piece {} has another form", id));
    else if (piece.text.empty() || piece.text.find('\0') != std::string::npos)
      wrong(fmt::format("piece {} is {}", id, piece.text.empty() ? "empty" : "a text with a zero in it"));
    else if (!seen_.insert(piece.text).second)
      wrong(fmt::format("piece {} stands twice", id));
    else if (!std::isfinite(piece.score) || std::abs(piece.score) > 1e9F)
      wrong(fmt::format("the score of piece {} is {}", id, piece.score));
    out_.pieces.push_back(std::move(piece));
  }

  void trainer(std::string_view bytes) {
    constexpr std::uint64_t kUnigram = 1, kCharacters = 4;
    Wire wire(bytes);
    for (Wire::Field field; wire.next(field);)
      if (field.number == kModelType &&
          (field.type != Wire::kVarint || field.value < kUnigram || field.value > kCharacters))
        wrong(fmt::format("its kind of model is {}, and 1 (unigrams) to 4 (characters) are known", field.value));
    if (wire.is_broken()) wrong("what it says of its training has another form");
  }

  void normalizer(std::string_view bytes, const char* what) {
    Wire wire(bytes);
    for (Wire::Field field; wire.next(field);) {
      if (field.number != kCharacterMap) continue;
      const std::string why = field.type == Wire::kBytes ? wrong_with_map(field.bytes) : "it is not text";
      if (!why.empty()) wrong(fmt::format("the map of its {} is not possible: {}", what, why));
    }
    if (wire.is_broken()) wrong(fmt::format("its {} has another form", what));
  }

  const base::Location& where_;
  base::Diagnostics& found_;
  SentencePieces out_;
  std::set<std::string> seen_;
};

}  // namespace

SentencePieces read_sentence_pieces(std::string_view bytes, const base::Location& where, base::Diagnostics& found) {
  return Reader(where, found).run(bytes);
}

}  // namespace orrery::formats::tokenizer
