// One pass over the bytes. Columns count characters as UTF-8 continues them, so that a caret stands under the cell.
#include "orrery/formats/csv/csv.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace orrery::formats::csv {
namespace {

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

constexpr std::size_t kMostCells = 1'000'000;

class Parser {
 public:
  Parser(const std::shared_ptr<const base::SourceFile>& file, Comments comments, base::Diagnostics& found)
      : file_(file), text_(file->text), comments_(comments), found_(found) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ = kByteOrderMark.size();
  }

  std::vector<Row> rows() {
    std::vector<Row> rows;
    std::size_t width = 0, cells = 0;
    while (at_ < text_.size()) {
      if (at_line_end()) {
        end_line();
      } else if (comments_ == Comments::kHash && text_[at_] == '#') {
        while (at_ < text_.size() && !at_line_end()) advance();
      } else {
        Row row;
        row.line = line_;
        row.cells.reserve(width);
        read_row(row);
        width = row.cells.size();
        cells += width;
        if (cells > kMostCells) {
          found_
              .error("O0103", fmt::format("the table has more than {} cells; no more is read", kMostCells),
                     {file_, row.line, 1, 1})
              .hint("is this the right file? leave out what is not needed");
          return {};
        }
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

 private:
  bool at_line_end() const { return text_[at_] == '\n' || text_[at_] == '\r'; }
  bool at_cell_end() const { return at_ >= text_.size() || text_[at_] == ',' || at_line_end(); }
  void advance() {
    column_ += begins_character(text_[at_]);
    ++at_;
  }
  void end_line() {
    at_ += text_.substr(at_, 2) == "\r\n" ? 2 : 1;
    ++line_;
    column_ = 1;
  }

  void read_row(Row& row) {
    while (true) {
      Cell& cell = row.cells.emplace_back();
      cell.line = line_;
      cell.column = column_;
      if (at_ < text_.size() && text_[at_] == '"') {
        read_quoted(cell);
      } else {
        const std::size_t begin = at_;
        while (!at_cell_end()) advance();
        cell.text = text_.substr(begin, at_ - begin);
      }
      if (cell.length == 0) cell.length = cell.line == line_ ? column_ - cell.column : 1;
      if (at_ >= text_.size()) return;
      if (text_[at_] != ',') {
        end_line();
        return;
      }
      advance();
    }
  }

  void read_quoted(Cell& cell) {
    advance();
    while (true) {
      if (at_ >= text_.size()) {
        found_.error("O1230", "a quote is opened and never closed", {file_, cell.line, cell.column, 1})
            .label("opened here")
            .hint("close it, or write a quote inside a cell twice: `\"5\"\" wafer\"`");
        return;
      }
      if (text_[at_] == '"') {
        advance();
        if (at_ >= text_.size() || text_[at_] != '"') break;
        cell.text += '"';
        advance();
      } else if (at_line_end()) {
        if (cell.length == 0) cell.length = column_ - cell.column;
        cell.text += '\n';
        end_line();
      } else {
        cell.text += text_[at_];
        advance();
      }
    }
    if (at_cell_end()) return;
    const base::Location where{file_, line_, column_, 1};
    std::string rest;
    while (!at_cell_end()) {
      rest += text_[at_];
      advance();
    }
    found_.error("O1231", fmt::format("`{}` follows the closing quote of a cell", rest), where)
        .hint("put the whole cell in quotes, or none of it");
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  std::string_view text_;
  Comments comments_;
  base::Diagnostics& found_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace

Document parse(std::shared_ptr<const base::SourceFile> file, Comments comments, base::Diagnostics& found) {
  Document document;
  document.rows = Parser(file, comments, found).rows();
  document.file = std::move(file);
  return document;
}

}  // namespace orrery::formats::csv
