#include "orrery/formats/amped/lookup_tables.h"

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::amped {
namespace {

using json::Member;
using json::Node;

template <typename Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : map) names.push_back(name);
  return names;
}

std::string among(const std::string& wanted, const std::vector<std::string>& names, const char* what) {
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<long>(std::min<std::size_t>(12, names.size())));
  if (names.size() > shown.size()) shown.emplace_back("...");
  return base::did_you_mean(wanted, names, names.empty() ? "" : fmt::format("{}: {}", what, base::joined(shown, ", ")));
}

bool check_object(const Member& member, const char* what, base::Diagnostics& found) {
  if (member.value.is_object()) {
    for (const json::Repeated& twice : json::repeated(member.value))
      found.warning("O1324", fmt::format("`{}` is given twice", twice.last->key), twice.last->key_where)
          .label("this one counts")
          .also(twice.first->key_where, "given here first");
    return true;
  }
  found.error("O1321",
              fmt::format("{} `{}` must be an object, but is {}", what, member.key, json::describe(member.value)),
              member.value.where);
  return false;
}

}  // namespace

LookupTables read_lookup_tables(const File& file, base::Diagnostics& found) {
  Member root;
  root.key = file->name;
  root.value = json::parse(file, "O1321", "lookup_tables.json is strict JSON: double quotes, no comments");
  LookupTables out;
  out.file = file;
  if (check_object(root, "the file", found))
    for (const Member& table : root.value.members) {
      if (!check_object(table, "the table", found)) continue;
      LookupTable& to = out.tables[table.key];
      to = {table.key_where, {}};
      for (const Member& row : table.value.members) {
        if (!check_object(row, "the row", found)) continue;
        TableRow& properties = to.rows[row.key];
        properties = {row.key_where, {}};
        for (const Member& property : row.value.members) properties.properties[property.key] = property.value;
      }
    }
  found.throw_if_errors();
  return out;
}

const Node* look_up(const LookupTables& tables, const Category& category, const Parameter& parameter,
                    base::Diagnostics& found) {
  const std::string wanted = parameter.lookup_name.text.empty() ? parameter.name : parameter.lookup_name.text;
  if (!category.has_lookup || category.lookup.table.text.empty() || category.lookup.row.text.empty()) {
    const std::string name(equations::category_name(parameter.category));
    const char* lacks = !category.has_lookup                 ? "has no `lookup_config`"
                        : category.lookup.table.text.empty() ? "has a `lookup_config` without `lookup_table_name`"
                                                             : "has a `lookup_config` without `lookup_table_row`";
    found
        .error("O1326", fmt::format("`{}` stands in a table, but `{}` {}", parameter.name, name, lacks),
               parameter.where)
        .also(category.where, "of this category")
        .hint("name the table and its row: \"lookup_config\": {\"lookup_table_name\": ..., \"lookup_table_row\": ...}");
    return nullptr;
  }
  const Text& table_name = category.lookup.table;
  const Text& row_name = category.lookup.row;
  if (tables.file == nullptr) {
    found
        .error("O1330",
               fmt::format("`{}` stands in the table `{}`, but no tables were given", parameter.name, table_name.text),
               parameter.where)
        .hint("give them: --tables lookup_tables.json");
    return nullptr;
  }
  const auto table = tables.tables.find(table_name.text);
  if (table == tables.tables.end()) {
    found.error("O1327", fmt::format("`{}` has no table `{}`", tables.file->name, table_name.text), table_name.where)
        .also(parameter.where, "wanted for this parameter")
        .hint(among(table_name.text, names_of(tables.tables), "its tables"));
    return nullptr;
  }
  const auto row = table->second.rows.find(row_name.text);
  if (row == table->second.rows.end()) {
    found.error("O1328", fmt::format("the table `{}` has no row `{}`", table_name.text, row_name.text), row_name.where)
        .also(table->second.where, "the table")
        .hint(among(row_name.text, names_of(table->second.rows), "its rows"));
    return nullptr;
  }
  const auto property = row->second.properties.find(wanted);
  if (property == row->second.properties.end()) {
    const base::Location& at = parameter.lookup_name.text.empty() ? parameter.where : parameter.lookup_name.where;
    found.error("O1329", fmt::format("the row `{}` of `{}` has no `{}`", row_name.text, table_name.text, wanted), at)
        .also(row->second.where, "the row")
        .hint(among(wanted, names_of(row->second.properties), "it has"));
    return nullptr;
  }
  return &property->second;
}

}  // namespace orrery::formats::amped
