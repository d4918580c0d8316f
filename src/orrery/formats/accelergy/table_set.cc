#include "orrery/formats/accelergy/table_set.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/describe/energy/attribute_value.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::accelergy {
namespace {

namespace fs = std::filesystem;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::vector<std::string> files_below(const std::string& folder, std::string_view suffix, bool recursive) {
  std::vector<std::string> files;
  std::error_code error;
  const auto take = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (ends_with(entry.path().filename().string(), suffix) && entry.is_regular_file(ignored))
      files.push_back(entry.path().string());
  };
  if (recursive) {
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) take(*at);
  } else {
    fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) take(*at);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The text of a key's scalar; an error where it is missing or something else.
std::optional<std::string> scalar(const yaml::Node& map, std::string_view key, base::Diagnostics& found) {
  const yaml::Node* node = map.find(key);
  if (!node) {
    std::vector<std::string> written;
    for (const auto& entry : map.entries) written.push_back(entry.key);
    const std::string close = base::closest(key, written);
    found.error("O1232", fmt::format("a table set needs `{}`", key), map.where)
        .hint(close.empty() ? "a description has name, technology, accuracy and path_to_data_dir"
                            : fmt::format("is `{}` meant for it?", close));
    return std::nullopt;
  }
  if (!node->is_scalar()) {
    found.error("O1232", fmt::format("`{}` of a table set is one value", key), node->where);
    return std::nullopt;
  }
  return node->scalar;
}

// As Python prints what YAML reads: 32 and 32nm stay as they are, 32.00 is 32.0.
std::string technology_text(const yaml::Node& node) {
  const auto value = energy::number(energy::Value(node.scalar));
  const bool is_float = !node.quoted && value && node.scalar.find('.') != std::string::npos;
  return is_float ? energy::text(energy::Value(*value)) : node.scalar;
}

void read_description(const std::string& path, std::vector<energy::TableSet>& sets, base::Diagnostics& found) {
  const auto file = yaml::read_file(path);
  base::Diagnostics syntax;
  const std::vector<yaml::Node> documents = yaml::parse(file, base::Severity::kWarning, syntax);
  found.append(syntax);
  if (syntax.has_errors()) return;
  if (documents.empty() || !documents[0].is_map()) {
    found.error("O1232", "a table set's description is a map", {file, 0, 0, 1})
        .hint("it has the keys name, technology, accuracy and path_to_data_dir");
    return;
  }
  const yaml::Node& map = documents[0];
  const auto name = scalar(map, "name", found);
  const auto technology = scalar(map, "technology", found);
  const auto accuracy = scalar(map, "accuracy", found);
  const auto data = scalar(map, "path_to_data_dir", found);
  if (!name || !technology || !accuracy || !data) return;

  const auto percent = energy::number(energy::Value(*accuracy));
  if (!percent || *percent < 0 || *percent > 100) {
    found.error("O1232", fmt::format("`accuracy` is a number from 0 to 100, not `{}`", *accuracy),
                map.find("accuracy")->where);
    return;
  }
  if (*percent == 0)
    found.warning("O1232", fmt::format("table set `{}` claims an accuracy of 0 and is never asked", *name),
                  map.find("accuracy")->where);

  const fs::path folder = fs::path(*data).is_absolute() ? fs::path(*data) : fs::path(path).parent_path() / *data;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    found
        .error("O1233",
               fmt::format("the tables of `{}` should lie in `{}`, which is not a folder", *name,
                           folder.lexically_normal().string()),
               map.find("path_to_data_dir")->where)
        .hint("`path_to_data_dir` is seen from the folder of the description");
    return;
  }
  energy::TableSet set{*name, technology_text(*map.find("technology")), *percent, path, {}};
  for (const std::string& table : files_below(folder.lexically_normal().string(), ".csv", false))
    set.tables.push_back(read_table(yaml::read_file(table), fs::path(table).stem().string(), found));
  if (set.tables.empty())
    found.warning("O1233", fmt::format("`{}` holds no table `<class>.csv`", folder.lexically_normal().string()),
                  map.find("path_to_data_dir")->where);
  sets.push_back(std::move(set));
}

// A figure's cell; nothing where it is empty.
std::optional<double> figure(const csv::Document& document, const csv::Cell& cell, std::string_view what,
                             base::Diagnostics& found) {
  if (cell.text.find_first_not_of(" \t") == std::string::npos) return std::nullopt;
  const auto value = energy::number(energy::Value(cell.text));
  if (value && *value >= 0) return value;
  found
      .error("O1236",
             fmt::format("an {} is a number of {} that is not negative, not `{}`", what, what == "area" ? "um^2" : "pJ",
                         cell.text),
             document.place(cell))
      .hint(what == "energy" ? "leave the row out when its energy is not known" : "");
  return std::nullopt;
}

// Only comments and nothing may be missing at the end of a row, or stand there in excess. A row that lacks its comment
// must have its figures, or else it lacks a cell somewhere before.
bool fits(const std::vector<std::string>& columns, const csv::Row& row) {
  for (std::size_t i = row.cells.size(); i < columns.size(); ++i)
    if (!columns[i].empty() && columns[i] != "comment") return false;
  for (std::size_t i = columns.size(); i < row.cells.size(); ++i)
    if (!row.cells[i].text.empty() && columns.back() != "comment") return false;
  for (std::size_t i = 0; i < row.cells.size() && row.cells.size() < columns.size(); ++i)
    if ((columns[i] == "energy" || columns[i] == "area") && !energy::number(energy::Value(row.cells[i].text)))
      return false;
  return true;
}

}  // namespace

energy::EstimationTable read_table(std::shared_ptr<const base::SourceFile> file, std::string class_name,
                                   base::Diagnostics& found) {
  energy::EstimationTable table;
  table.class_name = std::move(class_name);
  table.file = file->name;
  const base::Location whole{file, 0, 0, 1};
  base::Diagnostics syntax;
  const csv::Document document = csv::parse(std::move(file), csv::Comments::kNone, syntax);
  found.append(syntax);
  if (syntax.has_errors()) return table;
  if (document.rows.empty()) {
    found.error("O1234", "this table is empty", whole)
        .hint("its first line names the columns: attributes, action, arguments, energy, area");
    return table;
  }
  const csv::Row& header = document.rows.front();
  if (header.cells.size() == 1 && header.cells[0].text.find_first_of(";\t") != std::string::npos) {
    const bool tabs = header.cells[0].text.find(';') == std::string::npos;
    found
        .error("O1234", fmt::format("cells are separated by {} here, not by commas", tabs ? "tabs" : "`;`"),
               document.place(header))
        .hint("save the table as comma-separated values");
    return table;
  }
  std::map<std::string, std::size_t> index;
  for (const csv::Cell& cell : header.cells) {
    if (!cell.text.empty() && !index.emplace(cell.text, table.columns.size()).second)
      found.error("O1234", fmt::format("column `{}` occurs twice", cell.text), document.place(cell));
    table.columns.push_back(cell.text);
  }
  const auto column = [&](std::string_view name, bool required) -> std::optional<std::size_t> {
    if (const auto at = index.find(std::string(name)); at != index.end()) return at->second;
    if (required)
      found.error("O1234", fmt::format("this table has no column `{}`", name), document.place(header))
          .hint(base::did_you_mean(base::closest(name, table.columns)));
    return std::nullopt;
  };
  const auto energy = column("energy", true);
  const auto action = column("action", true);
  const auto area = column("area", false);
  if (!energy || !action) return table;
  table.action_column = *action;
  if (document.rows.size() == 1) {
    found
        .warning(
            "O1270",
            fmt::format("the table of `{}` has a header and no rows: no estimate can come from it", table.class_name),
            document.place(header.cells.front()))
        .hint("add a row for each action, or remove the file");
  }

  for (std::size_t i = 1; i < document.rows.size(); ++i) {
    const csv::Row& row = document.rows[i];
    if (!fits(table.columns, row)) {
      found
          .warning("O1235",
                   fmt::format("this row has {} cells for {} columns and is left out", row.cells.size(),
                               table.columns.size()),
                   document.place(row.cells.back()))
          .note("a component that needs it will be an error, not a guess");
      table.ragged_lines.push_back(row.line);
      continue;
    }
    energy::TableRow& read = table.rows.emplace_back();
    read.line = row.line;
    for (std::size_t k = 0; k < table.columns.size(); ++k)
      read.cells.push_back(k < row.cells.size() ? row.cells[k].text : "");
    if (*energy < row.cells.size()) read.energy_pj = figure(document, row.cells[*energy], "energy", found);
    if (area && *area < row.cells.size()) read.area_um2 = figure(document, row.cells[*area], "area", found);
  }
  return table;
}

std::vector<energy::TableSet> read_table_sets(const std::string& folder, base::Diagnostics& found) {
  std::vector<energy::TableSet> sets;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    found.error("O1237", fmt::format("`{}` is not a folder of estimation tables", folder))
        .hint("`--tables` takes a folder that holds descriptions `*.table.yaml`, also in folders below");
    return sets;
  }
  const std::vector<std::string> descriptions = files_below(folder, "table.yaml", true);
  if (descriptions.empty())
    found.error("O1237", fmt::format("`{}` holds no table set", folder))
        .hint("a set is a description `*.table.yaml` with a folder of CSV files");
  for (const std::string& path : descriptions) {
    try {
      read_description(path, sets, found);
    } catch (const base::InputError& failure) {
      found.append(failure.diagnostics);
    }
  }
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (sets[k].name == sets[i].name)
        found
            .warning("O1238", fmt::format("two table sets are named `{}`: `{}` and `{}`", sets[i].name, sets[k].file,
                                          sets[i].file))
            .note("both count; a row of the first wins where their accuracy is the same");
  return sets;
}

}  // namespace orrery::formats::accelergy
