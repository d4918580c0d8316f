// Tables for programs and papers: --csv and --latex, of whatever answer has tables.
#pragma once

#include <string>

namespace orrery::verbs {

enum class TableForm { kText, kCsv, kLatex };

// How text(Table) writes tables: a setting of the process, which the command line makes before the answer is drawn.
// Other forms than kText are marked in the text, for only_tables().
void set_table_form(TableForm form);
TableForm table_form();

// Of an answer's text its tables, each after a comment with the line that stood before it and, from the second on, a
// blank line. Throws InputError O1124 where there is none.
std::string only_tables(const std::string& text);

// A table between its marks.
struct Table;
std::string marked_table(const Table& table);

}  // namespace orrery::verbs
