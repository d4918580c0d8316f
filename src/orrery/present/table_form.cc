#include "orrery/present/table_form.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

// Texts of users have no such bytes: they are printed as `\x02`.
constexpr char kBegin = '\x02', kEnd = '\x03';

std::atomic<TableForm> form{TableForm::kText};

// What bars are drawn with stands for a figure that is there, too: U+2580 to U+259F.
std::string without_bars(const std::string& cell) {
  std::string out;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const bool block =
        cell.compare(i, 2, "\xE2\x96") == 0 && i + 2 < cell.size() && static_cast<unsigned char>(cell[i + 2]) < 0xA0;
    if (block)
      i += 2;
    else
      out += cell[i];
  }
  return out;
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string latex_cell(const std::string& cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '\\')
      out += "\\textbackslash{}";
    else if (c == '~' || c == '^')
      out += fmt::format("\\{}{{}}", c);
    else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
      out += fmt::format("\\{}", c);
    else if (c == '<' || c == '>')
      out += fmt::format("${}$", c);
    else
      out += c;
  }
  return out;
}

struct Cells {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// Whole rows without bars, and without columns that are empty then.
Cells cells_of(const Table& table) {
  std::size_t width = table.header.size();
  for (const auto& row : table.rows) width = std::max(width, row.size());
  Cells all{table.header, table.rows};
  all.header.resize(width);
  for (auto& row : all.rows) {
    row.resize(width);
    for (std::string& cell : row) cell = without_bars(cell);
  }
  for (std::size_t column = width; column-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    if (!all.header[column].empty() ||
        !std::all_of(all.rows.begin(), all.rows.end(), [&](const auto& row) { return row[column].empty(); }))
      continue;
    all.header.erase(all.header.begin() + at);
    for (auto& row : all.rows) row.erase(row.begin() + at);
  }
  return all;
}

std::string joined(const std::vector<std::string>& row, const char* between, std::string (*shown)(const std::string&)) {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : between) + shown(row[i]);
  return out;
}

bool has_header(const Cells& cells) {
  return std::any_of(cells.header.begin(), cells.header.end(), [](const std::string& name) { return !name.empty(); });
}

std::string csv(const Cells& cells) {
  std::string out;
  if (has_header(cells)) out += joined(cells.header, ",", csv_cell) + "\n";
  for (const auto& row : cells.rows) out += joined(row, ",", csv_cell) + "\n";
  return out;
}

std::string latex(const Table& table, const Cells& cells) {
  std::string columns;
  for (std::size_t i = 0; i < cells.header.size(); ++i)
    columns += i == 0 || std::count(table.left_columns.begin(), table.left_columns.end(), i) > 0 ? 'l' : 'r';
  std::string out = fmt::format("\\begin{{tabular}}{{{}}}\n\\hline\n", columns);
  if (has_header(cells)) out += joined(cells.header, " & ", latex_cell) + " \\\\\n\\hline\n";
  for (std::size_t i = 0; i < cells.rows.size(); ++i) {
    if (i > 0 && std::count(table.rules_before.begin(), table.rules_before.end(), i) > 0) out += "\\hline\n";
    out += joined(cells.rows[i], " & ", latex_cell) + " \\\\\n";
  }
  return out + "\\hline\n\\end{tabular}\n";
}

// The last line that says something.
std::string_view caption(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \n");
  if (last == std::string_view::npos) return {};
  const std::size_t before = text.find_last_of('\n', last);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  text = text.substr(first, last - first + 1);
  return text.find_first_not_of("- ") == std::string_view::npos ? std::string_view() : text;
}

}  // namespace

void set_table_form(TableForm wanted) {
  form = wanted;
}

TableForm table_form() {
  return form;
}

std::string marked_table(const Table& table) {
  const Cells cells = cells_of(table);
  return kBegin + (table_form() == TableForm::kCsv ? csv(cells) : latex(table, cells)) + kEnd;
}

std::string only_tables(const std::string& text) {
  const char* comment = table_form() == TableForm::kCsv ? "# " : "% ";
  std::string out;
  std::size_t from = 0;
  for (std::size_t begin = text.find(kBegin); begin != std::string::npos; begin = text.find(kBegin, from)) {
    const std::size_t end = text.find(kEnd, begin);
    if (!out.empty()) out += "\n";
    if (const std::string_view line = caption(std::string_view(text).substr(from, begin - from)); !line.empty())
      out += fmt::format("{}{}\n", comment, line);
    out += text.substr(begin + 1, end - begin - 1);
    from = end + 1;
  }
  if (out.empty())
    base::fail("O1124",
               fmt::format("`--{}` prints tables, but this answer has none",
                           table_form() == TableForm::kCsv ? "csv" : "latex"),
               {}, "leave it out, or take every figure with `--json`");
  return out;
}

}  // namespace orrery::verbs
