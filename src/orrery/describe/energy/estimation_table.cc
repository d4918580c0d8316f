// Rows are searched in file order. An attribute of the query is compared if the table has a column of its name; an
// argument must have a column. All comparisons are of texts, numbers as Python prints them (attribute_value.h): this is
// what Accelergy's table plug-in does, and users' tables are written for it.
#include "orrery/describe/energy/estimation_table.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::energy {
namespace {

struct Difference {
  std::string column;
  std::string cell;
  std::string wanted;
};

std::optional<std::size_t> column_of(const EstimationTable& table, std::string_view name) {
  const auto at = std::find(table.columns.begin(), table.columns.end(), name);
  if (at == table.columns.end()) return std::nullopt;
  return static_cast<std::size_t>(at - table.columns.begin());
}

// What a row's cells must be.
struct Condition {
  std::size_t column = 0;
  std::string wanted;
};

struct Conditions {
  std::vector<Condition> all;
  std::string missing_argument;  // not empty: no row can match
};

Conditions conditions_of(const EstimationTable& table, const Query& query) {
  Conditions conditions;
  for (const auto& [name, value] : query.attributes)
    if (const auto column = column_of(table, name)) conditions.all.push_back({*column, text(value)});
  if (query.wants_area()) return conditions;
  conditions.all.push_back({table.action_column, std::string(query.action)});
  for (const auto& [name, value] : query.arguments) {
    if (const auto column = column_of(table, name))
      conditions.all.push_back({*column, text(value)});
    else if (conditions.missing_argument.empty())
      conditions.missing_argument = name;
  }
  return conditions;
}

std::vector<Difference> differences(const EstimationTable& table, const TableRow& row,
                                    const std::vector<Condition>& conditions) {
  std::vector<Difference> differences;
  for (const Condition& one : conditions)
    if (row.cells[one.column] != one.wanted)
      differences.push_back({table.columns[one.column], row.cells[one.column], one.wanted});
  return differences;
}

// "datawidth: 8, not 16". Blanks and different spellings of one number are easily overlooked, so they are pointed out.
std::string describe(const Difference& difference) {
  const auto shown = [](const std::string& cell) {
    const bool bare = !cell.empty() && cell.front() != ' ' && cell.back() != ' ';
    return bare ? cell : fmt::format("`{}`", cell);
  };
  const auto here = number(Value(difference.cell));
  const auto there = number(Value(difference.wanted));
  return fmt::format("{}: {}, not {}{}", difference.column, shown(difference.cell), shown(difference.wanted),
                     here && there && *here == *there ? " (cells are compared as text)" : "");
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Why no row of a table matches: the nearest row, and how it differs.
std::string nearest(const EstimationTable& table, const Conditions& conditions) {
  const std::string file = file_name(table.file);
  std::string why;
  if (!conditions.missing_argument.empty()) {
    why = fmt::format("{} has no column for the argument {}", file, conditions.missing_argument);
  } else {
    const TableRow* best = nullptr;
    std::vector<Difference> least;
    for (const TableRow& row : table.rows) {
      auto here = differences(table, row, conditions.all);
      if (best && here.size() >= least.size()) continue;
      best = &row;
      least = std::move(here);
    }
    std::vector<std::string> texts;
    for (const Difference& one : least) texts.push_back(describe(one));
    why = best ? fmt::format("{} line {} differs in {}", file, best->line, base::joined(texts, "; "))
               : fmt::format("{} has no row", file);
  }
  if (!table.ragged_lines.empty())
    why += fmt::format("; its line{} {} {} left out, with more or fewer cells than there are columns",
                       base::plural(table.ragged_lines.size()), base::joined(table.ragged_lines, ", "),
                       base::plural(table.ragged_lines.size(), "is", "are"));
  return why;
}

}  // namespace

struct EstimationTables::Found {
  bool knows_class = false;
  const TableSet* set = nullptr;  // that answers
  const EstimationTable* table = nullptr;
  const TableRow* row = nullptr;
  double accuracy = 0;
  std::vector<std::string> reasons;  // of the sets without a row
};

EstimationTables::EstimationTables(std::vector<TableSet> sets, EstimateOptions options)
    : sets_(std::move(sets)), options_(options) {}

std::vector<std::string> EstimationTables::classes() const {
  std::vector<std::string> classes;
  for (const TableSet& set : sets_)
    for (const EstimationTable& table : set.tables) classes.push_back(table.class_name);
  return classes;
}

EstimationTables::Found EstimationTables::look_up(const Query& query) const {
  Found found;
  const Value* wanted = find(query.attributes, "technology");
  const std::string technology = wanted ? text(*wanted) : "";
  std::vector<std::string> other_technologies;
  for (const TableSet& set : sets_) {
    const auto table = std::find_if(set.tables.begin(), set.tables.end(),
                                    [&](const EstimationTable& one) { return one.class_name == query.class_name; });
    if (table == set.tables.end()) continue;
    found.knows_class = true;
    if (!wanted || set.technology != technology) {
      other_technologies.push_back(set.technology);
      continue;
    }
    if (set.accuracy_percent <= found.accuracy) continue;
    const Conditions conditions = conditions_of(*table, query);
    const auto row = !conditions.missing_argument.empty()
                         ? table->rows.end()
                         : std::find_if(table->rows.begin(), table->rows.end(), [&](const TableRow& one) {
                             return std::all_of(conditions.all.begin(), conditions.all.end(),
                                                [&](const Condition& c) { return one.cells[c.column] == c.wanted; });
                           });
    if (row != table->rows.end()) {
      found.set = &set;
      found.table = &*table;
      found.row = &*row;
      found.accuracy = set.accuracy_percent;
      continue;
    }
    found.reasons.push_back(nearest(*table, conditions));
    if (options_.defects.forget_found_rows && found.row) {
      found.reasons.push_back(
          fmt::format("so `{}` takes away the row that `{}` has (Accelergy 0.4)", set.name, found.set->name));
      found.set = nullptr;
      found.table = nullptr;
      found.row = nullptr;
    }
  }
  if (found.reasons.empty() && !other_technologies.empty())
    found.reasons.push_back(wanted ? fmt::format("has `{}` for technology {}, not {}", query.class_name,
                                                 base::joined(other_technologies, ", "), technology)
                                   : "needs attribute `technology`");
  return found;
}

std::optional<double> EstimationTables::accuracy(const Query& query) const {
  const Found found = look_up(query);
  if (!found.knows_class) return std::nullopt;
  return found.accuracy;
}

Answer EstimationTables::estimate(const Query& query) const {
  const Found found = look_up(query);
  if (!found.row) return Refusal{base::joined(found.reasons, "; ")};
  const auto& value = query.wants_area() ? found.row->area_um2 : found.row->energy_pj;
  if (!value)
    return Refusal{fmt::format("{} line {} matches, but has no {}", file_name(found.table->file), found.row->line,
                               query.wants_area() ? "area" : "energy")};
  Figure figure;
  figure.value = *value;
  figure.accuracy_percent = found.accuracy;
  figure.basis = Basis::kPublished;
  figure.estimator = name();
  figure.source = fmt::format("{} line {} of `{}`", file_name(found.table->file), found.row->line, found.set->name);
  return figure;
}

}  // namespace orrery::energy
