#include "orrery/inputs/systems/measured_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::verbs {
namespace {

namespace csv = formats::csv;
namespace fs = std::filesystem;

// `# key: text` among the lines that begin with #.
std::string remark(const std::string& text, const std::string& key) {
  const std::string head = "# " + key + ": ";
  for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1))
    if (at == 0 || text[at - 1] == '\n') return text.substr(at + head.size(), text.find('\n', at) - at - head.size());
  return {};
}

void read_header(MeasuredTable& table, const std::vector<std::string>& known, const std::vector<std::string>& prefixes,
                 base::Diagnostics& found) {
  const csv::Document& document = table.document;
  for (const csv::Cell& cell : document.rows[0].cells) {
    const bool field = std::any_of(prefixes.begin(), prefixes.end(),
                                   [&](const std::string& prefix) { return cell.text.starts_with(prefix); });
    if (!field && std::find(known.begin(), known.end(), cell.text) == known.end())
      found.error("O1358", fmt::format("the table has an unknown column `{}`", cell.text), document.place(cell))
          .hint(base::did_you_mean(cell.text, known));
    if (std::find(table.columns.begin(), table.columns.end(), cell.text) != table.columns.end())
      found.error("O1358", fmt::format("the column `{}` is there twice", cell.text), document.place(cell));
    table.columns.push_back(cell.text);
  }
  for (const std::string& needed : known)
    if (needed != "note" && std::find(table.columns.begin(), table.columns.end(), needed) == table.columns.end())
      found.error("O1358", fmt::format("the column `{}` is missing", needed), document.place(document.rows[0]));
}

}  // namespace

MeasuredTable read_measured_table(const std::string& path, const std::vector<std::string>& known,
                                  const std::vector<std::string>& prefixes, base::Diagnostics& found) {
  MeasuredTable table;
  table.document = csv::parse(formats::yaml::read_file(path), csv::Comments::kHash, found);
  csv::Document& document = table.document;
  table.name = fs::path(path).stem().string();
  for (const auto& [key, into] :
       {std::pair{"title", &table.title}, std::pair{"source", &table.source}, std::pair{"licence", &table.licence}}) {
    *into = remark(document.file->text, key);
    if (into->empty())
      found.error("O1358", fmt::format("the table does not say its {}", key), {document.file, 0, 0, 1})
          .hint(fmt::format("begin it with a line `# {}: ...`", key));
  }
  table.calculon = remark(document.file->text, "calculon");
  table.rows = remark(document.file->text, "rows");
  if (document.rows.empty()) {
    found.error("O1358", "the table has no header", {document.file, 0, 0, 1});
    return table;
  }
  read_header(table, known, prefixes, found);
  std::erase_if(document.rows, [&](const csv::Row& row) {
    if (row.cells.size() == table.columns.size()) return false;
    found.error("O1358",
                fmt::format("{} cells in a row of a table with {} columns", row.cells.size(), table.columns.size()),
                document.place(row));
    return true;
  });
  return table;
}

std::size_t choice(const MeasuredTable& table, const csv::Cell& cell, std::span<const std::string_view> names,
                   base::Diagnostics& found) {
  const auto at = std::find(names.begin(), names.end(), cell.text);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  found.error("O1358", fmt::format("`{}` is not one of {}", cell.text, base::joined(names, ", ")),
              table.document.place(cell));
  return 0;
}

std::vector<std::string> measured_tables(const std::string& folder, const std::vector<std::string>& only) {
  std::vector<std::string> known;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".csv") known.push_back(entry.path().stem().string());
  std::sort(known.begin(), known.end());
  base::Diagnostics found;
  for (const std::string& name : only)
    if (std::find(known.begin(), known.end(), name) == known.end())
      found.error("O1359", fmt::format("there is no table of measurements `{}`", name))
          .note(fmt::format("there are: {}", base::joined(known, ", ")))
          .hint(base::did_you_mean(name, known));
  found.throw_if_errors();
  std::vector<std::string> paths;
  for (const std::string& name : known)
    if (only.empty() || std::find(only.begin(), only.end(), name) != only.end())
      paths.push_back((fs::path(folder) / (name + ".csv")).string());
  return paths;
}

base::InputError in_row(const base::InputError& error, const base::Location& where) {
  std::vector<base::Diagnostic> found = error.diagnostics;
  for (base::Diagnostic& one : found)
    if (!one.primary.where.known()) one.primary.where = where;
  return base::InputError(std::move(found));
}

}  // namespace orrery::verbs
