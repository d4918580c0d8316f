// Comma-separated text to cells with places.
//
// RFC 4180: cells in double quotes may hold commas, line ends and doubled quotes. Lines end in LF, CRLF or CR; a
// byte order mark is skipped; lines without a single character are no rows. Cells are kept as written: blanks
// count, as they do for Accelergy's tables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::csv {

struct Cell {
  std::string text;  // unquoted
  int line = 0;      // where it begins, from 1
  int column = 0;
  int length = 0;  // characters to underline, quotes included; up to the end of its first line
};

struct Row {
  int line = 0;  // where it begins
  std::vector<Cell> cells;
};

struct Document {
  std::shared_ptr<const base::SourceFile> file;
  std::vector<Row> rows;  // the header is the first

  base::Location place(const Cell& cell) const { return {file, cell.line, cell.column, cell.length}; }
  base::Location place(const Row& row) const { return {file, row.line, 1, 1}; }
};

enum class Comments { kNone, kHash };  // kHash: lines that begin with `#` are skipped

// Errors: O1230 (a quote that never closes), O1231 (text after a closing quote); the rest is still read.
Document parse(std::shared_ptr<const base::SourceFile> file, Comments comments, base::Diagnostics& found);

}  // namespace orrery::formats::csv
