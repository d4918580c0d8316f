// Texts with labels, as data sets have them: rows of named fields.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

struct TextField {
  std::string text;
  base::Location where;
};

// Several answers to one question are several values of one field.
struct TextRow {
  base::Location where;
  std::vector<std::pair<std::string, std::vector<TextField>>> fields;

  const std::vector<TextField>* find(const std::string& name) const;
};

struct TextRows {
  std::string path;
  std::vector<std::string> columns;
  std::vector<TextRow> rows;
  std::size_t skipped = 0;  // that were left out
};

// What a data set's files have beside what their names say.
struct TextRules {
  std::vector<std::string> header;  // of a table without one
  bool tabs = false;                // a table with tabs, whatever its name
  bool skips = false;               // rows with too few or too many cells are left out and counted
};

// By the name's ending: .csv and .tsv with a header; .jsonl and .json an object a line, or a list of objects (members
// of members are named `answers.text`); else a text a line, in the column `text`. Throws InputError: O0100, O0104 (no
// text), O1230, O1231 (CSV), O1650 (JSON lines, columns that do not fit, no row).
TextRows read_text_rows(const std::string& path, const TextRules& rules = {});

// A JSON or text file of any size. Throws InputError: O0100, O0104.
std::shared_ptr<const base::SourceFile> read_data_file(const std::string& path);

}  // namespace orrery::verbs
