#include "orrery/verbs/train/plans/plan_row_lines.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // bytes of text that a thread takes at once
constexpr std::size_t kMostLine = std::size_t{1} << 16;

}  // namespace

base::Location place_in(const std::string& name, const Line& line, int column, int length) {
  constexpr std::uint64_t kMostLines = 1'000'000;
  const bool padded = line.number <= kMostLines;
  auto file = std::make_shared<base::SourceFile>();
  file->name = padded ? name : fmt::format("{} line {}", name, line.number);
  if (padded) file->text.assign(static_cast<std::size_t>(line.number) - 1, '\n');
  file->text += line.text;
  return {std::move(file), padded ? static_cast<int>(line.number) : 1, column, std::max(1, length)};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

namespace {

// The quote that ends the cell that begins at `at` with one; two in a row stand for one of the cell's own.
std::size_t closing_quote(std::string_view line, std::size_t at) {
  for (std::size_t quote = line.find('"', at + 1); quote != std::string_view::npos; quote = line.find('"', quote + 2))
    if (quote + 1 == line.size() || line[quote + 1] != '"') return quote;
  return std::string_view::npos;
}

}  // namespace

void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (std::size_t at = 0;;) {
    std::size_t end = line.find(',', at);
    const bool quoted = at < line.size() && line[at] == '"';
    const std::size_t closing = quoted ? closing_quote(line, at) : std::string_view::npos;
    if (closing != std::string_view::npos) end = line.find(',', closing);
    const std::string_view cell = trimmed(line.substr(at, end == std::string_view::npos ? end : end - at));
    const bool whole = closing != std::string_view::npos && closing + 1 == at + cell.size();
    cells.push_back(whole ? cell.substr(1, cell.size() - 2) : cell);
    if (end == std::string_view::npos) return;
    at = end + 1;
  }
}

bool LinePieces::next(Piece& piece) {
  piece.first_line = line_;
  piece.text = std::move(rest_);
  rest_.clear();
  bool ended = false;
  while (piece.text.size() < kPiece && !ended) {
    if (read_.empty()) read_ = file_.next();  // as much as the file gives at once
    const std::size_t taken = std::min(read_.size(), kPiece);
    piece.text += read_.substr(0, taken);
    read_.remove_prefix(taken);
    ended = taken == 0;
  }
  if (!ended) {
    const std::size_t end = piece.text.rfind('\n');
    const std::size_t kept = end == std::string::npos ? 0 : end + 1;
    if (piece.text.size() - kept > kMostLine)
      base::fail("O1946", fmt::format("line {} of `{}` has more than {} characters", line_, name_, kMostLine), {},
                 "is it a file of plans, one a line?");
    rest_ = piece.text.substr(kept);
    piece.text.resize(kept);
  }
  line_ += static_cast<std::uint64_t>(std::count(piece.text.begin(), piece.text.end(), '\n'));
  return !piece.text.empty();
}

}  // namespace orrery::verbs
