#include "orrery/inputs/networks/text_rows.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "orrery/base/text/mapped_file.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/tokenizer/characters.h"

namespace orrery::verbs {
namespace {

using TextRowsFile = std::shared_ptr<const base::SourceFile>;
using formats::json::Node;

// Data sets are larger than the descriptions that base::read_file takes, and may hold any character: form feeds stand
// in many a text. Without the mark that some programs put before UTF-8.
TextRowsFile whole_file(const std::string& path) {
  const base::MappedFile mapped(path);
  auto file = std::make_shared<base::SourceFile>(base::SourceFile{path, std::string(mapped.bytes())});
  if (const auto bad = formats::tokenizer::first_bad_byte(file->text)) {
    const auto line = 1 + std::count(file->text.begin(), file->text.begin() + static_cast<std::ptrdiff_t>(*bad), '\n');
    base::Diagnostics found;
    found
        .error("O0104",
               fmt::format("`{}` is not a text: byte {} (0x{:02x}) begins no character of UTF-8", path, *bad + 1,
                           static_cast<unsigned char>(file->text[*bad])),
               {std::make_shared<const base::SourceFile>(base::SourceFile{path, {}}), 0, 0})
        .note(fmt::format("it stands in line {}", line))
        .hint("save it as UTF-8, for example with `iconv -f LATIN1 -t UTF-8`");
    found.throw_if_errors();
  }
  if (file->text.rfind("\xEF\xBB\xBF", 0) == 0) file->text.erase(0, 3);
  return file;
}

// Of objects, each of which may have names of its own.
class ColumnNames {
 public:
  explicit ColumnNames(TextRows& to) : to_(to) {}
  void add(const TextRow& row) {
    for (const auto& [name, values] : row.fields)
      if (known_.insert(name).second) to_.columns.push_back(name);
  }

 private:
  TextRows& to_;
  std::set<std::string> known_;
};

// Tab-separated tables (GLUE's) have no quotes: every tab ends a cell.
formats::csv::Document tabs(const TextRowsFile& file) {
  formats::csv::Document out{file, {}};
  std::string_view text = file->text;
  for (int line = 1; !text.empty(); ++line) {
    std::string_view all = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), all.size() + 1));
    if (!all.empty() && all.back() == '\r') all.remove_suffix(1);
    if (all.empty()) continue;
    formats::csv::Row row{line, {}};
    for (std::size_t at = 0;;) {
      const std::size_t end = std::min(all.find('\t', at), all.size());
      row.cells.push_back(
          {std::string(all.substr(at, end - at)), line, static_cast<int>(at) + 1, static_cast<int>(end - at)});
      if (end == all.size()) break;
      at = end + 1;
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

void read_table(const formats::csv::Document& table, const TextRules& rules, TextRows& to) {
  base::Diagnostics found;
  std::vector<std::string> header = rules.header;
  const std::size_t first = header.empty() ? 1 : 0;
  std::set<std::string_view> names;
  if (first == 1 && !table.rows.empty())
    for (const formats::csv::Cell& cell : table.rows[0].cells) {
      header.push_back(cell.text);
      if (!names.insert(cell.text).second && !cell.text.empty())
        found.error("O1650", fmt::format("the column `{}` stands twice in the header", cell.text), table.place(cell));
    }
  for (std::size_t r = first; r < table.rows.size(); ++r) {
    const formats::csv::Row& cells = table.rows[r];
    const std::size_t columns = header.size();
    if (cells.cells.size() != columns && rules.skips) {
      ++to.skipped;
      continue;
    }
    if (cells.cells.size() != columns) {
      found.error("O1650", fmt::format("the row has {} cells, and the header {}", cells.cells.size(), columns),
                  table.place(cells));
      if (found.all().size() >= 20) break;
      continue;
    }
    TextRow row{table.place(cells), {}};
    for (std::size_t c = 0; c < columns; ++c)
      row.fields.push_back({header[c], {{cells.cells[c].text, table.place(cells.cells[c])}}});
    to.rows.push_back(std::move(row));
  }
  found.throw_if_errors();
  to.columns = std::move(header);
}

// A value as it is told in a table; members of members under names with dots.
void add_fields(const Node& node, const std::string& name, TextRow& row) {
  std::vector<TextField> values;
  if (node.is_object()) {
    for (const formats::json::Member& member : node.members)
      add_fields(member.value, name.empty() ? member.key : name + "." + member.key, row);
    return;
  }
  if (node.kind == Node::Kind::kList) {
    for (const Node& item : node.items)
      if (item.is_text() || item.is_number()) values.push_back({item.text, item.where});
  } else if (!node.is_null()) {
    values.push_back({node.kind == Node::Kind::kTruth ? (node.truth ? "1" : "0") : node.text, node.where});
  }
  row.fields.push_back({name, std::move(values)});
}

void add_object(const Node& node, ColumnNames& columns, TextRows& to) {
  if (!node.is_object())
    base::fail("O1650", fmt::format("an object must stand here, not {}", formats::json::describe(node)), node.where);
  TextRow row{node.where, {}};
  add_fields(node, "", row);
  columns.add(row);
  to.rows.push_back(std::move(row));
}

void move_to(const TextRowsFile& file, int line, Node& node) {
  node.where = {file, line, node.where.column, node.where.length};
  for (Node& item : node.items) move_to(file, line, item);
  for (formats::json::Member& member : node.members) move_to(file, line, member.value);
}

void read_objects(const TextRowsFile& file, TextRows& to) {
  ColumnNames columns(to);
  const std::size_t first = file->text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && file->text[first] == '[') {
    for (const Node& item : formats::json::parse(file, "O1650").items) add_object(item, columns, to);
    return;
  }
  std::string_view text = file->text;
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    // Each line is a document, whose places are those of the file.
    const auto part = std::make_shared<const base::SourceFile>(base::SourceFile{file->name, std::string(one)});
    try {
      Node node = formats::json::parse(part, "O1650");
      move_to(file, line, node);
      add_object(node, columns, to);
    } catch (base::InputError& error) {
      for (base::Diagnostic& said : error.diagnostics)
        if (base::Location& where = said.primary.where; where.file == part)
          where = {file, line, where.column, where.length};
      throw;
    }
  }
}

void read_lines(const TextRowsFile& file, TextRows& to) {
  std::string_view text = file->text;
  to.columns = {"text"};
  for (int line = 1; !text.empty(); ++line) {
    std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (!one.empty() && one.back() == '\r') one.remove_suffix(1);
    if (one.find_first_not_of(" \t") == std::string_view::npos) continue;
    const base::Location where{file, line, 1, 1};
    to.rows.push_back({where, {{"text", {{std::string(one), where}}}}});
  }
}

}  // namespace

const std::vector<TextField>* TextRow::find(const std::string& name) const {
  for (const auto& [known, values] : fields)
    if (known == name) return &values;
  return nullptr;
}

std::shared_ptr<const base::SourceFile> read_data_file(const std::string& path) {
  return whole_file(path);
}

TextRows read_text_rows(const std::string& path, const TextRules& rules) {
  TextRows out;
  out.path = path;
  const TextRowsFile file = whole_file(path);
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".tsv" || rules.tabs) {
    read_table(tabs(file), rules, out);
  } else if (ending == ".csv") {
    base::Diagnostics found;
    const formats::csv::Document table = formats::csv::parse(file, formats::csv::Comments::kNone, found);
    found.throw_if_errors();
    read_table(table, rules, out);
  } else if (ending == ".jsonl" || ending == ".json") {
    read_objects(file, out);
  } else {
    read_lines(file, out);
  }
  if (out.rows.empty()) base::fail("O1650", fmt::format("`{}` has no text", path), {file, 0, 0});
  return out;
}

}  // namespace orrery::verbs
