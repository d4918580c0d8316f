#include "orrery/formats/timeloop/templates/placed_text.h"

#include <algorithm>

namespace orrery::formats::timeloop::jinja {

void PlacedText::add(std::string_view text, const base::Location& where, bool copied) {
  if (text.empty()) return;
  pieces_.push_back({text_.size(), where, copied});
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') lines_.push_back(text_.size() + i + 1);
  text_ += text;
}

void PlacedText::append_copy(const base::Location& where, std::string_view text) {
  base::Location at = where;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    add(text.substr(0, end), at, true);
    text.remove_prefix(end);
    ++at.line;
    at.column = 1;
  }
}

void PlacedText::append_made(const base::Location& where, std::string_view text) {
  add(text, where, false);
}

void PlacedText::append(const PlacedText& other) {
  for (std::size_t i = 0; i < other.pieces_.size(); ++i) {
    const Piece& piece = other.pieces_[i];
    const std::size_t end = i + 1 < other.pieces_.size() ? other.pieces_[i + 1].begin : other.text_.size();
    add(std::string_view(other.text_).substr(piece.begin, end - piece.begin), piece.where, piece.copied);
  }
}

base::Location PlacedText::origin(int line, int column) const {
  if (pieces_.empty() || line < 1) return {};
  const std::size_t row = std::min(static_cast<std::size_t>(line) - 1, lines_.size() - 1);
  const std::size_t offset = lines_[row] + static_cast<std::size_t>(std::max(column, 1) - 1);
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                      [](std::size_t at, const Piece& piece) { return at < piece.begin; });
  const Piece& piece = after == pieces_.begin() ? pieces_.front() : *(after - 1);
  base::Location where = piece.where;
  if (piece.copied && offset > piece.begin) {
    where.column += static_cast<int>(offset - piece.begin);
    where.length = 1;
  }
  return where;
}

}  // namespace orrery::formats::timeloop::jinja
