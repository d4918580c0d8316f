// Lines of a file of plans, with their numbers, in pieces that threads take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/file_pieces.h"

namespace orrery::verbs {

struct Line {
  std::uint64_t number = 0;
  std::string_view text;
};

// The place in a file that has the line at its number and nothing before: the rest of the file is not kept.
base::Location place_in(const std::string& name, const Line& line, int column = 1, int length = 1);

std::string_view trimmed(std::string_view text);

// The cells of a line of CSV; quotes around one are taken off.
void split_cells(std::string_view line, std::vector<std::string_view>& cells);

// Whole lines of the input, about a quarter of a megabyte at a time.
class LinePieces {
 public:
  struct Piece {
    std::uint64_t first_line = 1;
    std::string text;
  };

  // `name`: for messages. Throws InputError: O0100 where there is no such file.
  LinePieces(const std::string& name, const std::string& path) : name_(name), file_(path) {}

  // False: there is none left. Throws InputError: O1946 for a line that is too long to be a plan.
  bool next(Piece& piece);

 private:
  const std::string& name_;
  base::FilePieces file_;
  std::string_view read_;  // of the file's last piece, what is still to be taken
  std::string rest_;
  std::uint64_t line_ = 1;
};

// Calls `each` with every line that is neither empty nor a remark.
template <typename Each>
void lines_of(const LinePieces::Piece& piece, const Each& each) {
  std::uint64_t number = piece.first_line;
  for (std::size_t at = 0; at < piece.text.size(); ++number) {
    std::size_t end = piece.text.find('\n', at);
    if (end == std::string::npos) end = piece.text.size();
    std::string_view text(piece.text.data() + at, end - at);
    if (number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (const std::string_view own = trimmed(text); !own.empty() && own.front() != '#') each(Line{number, own});
    at = end + 1;
  }
}

}  // namespace orrery::verbs
