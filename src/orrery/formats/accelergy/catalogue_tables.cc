#include "orrery/formats/accelergy/catalogue_tables.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/describe/energy/attribute_value.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::accelergy {
namespace {

using File = std::shared_ptr<const base::SourceFile>;

// A table of the catalogue with its columns looked up. Every row has a cell for each column.
class Sheet {
 public:
  Sheet(File file, base::Diagnostics& found) : found_(found) {
    document_ = csv::parse(std::move(file), csv::Comments::kHash, found);
    if (document_.rows.empty()) {
      found.error("O1240", "this table is empty", {document_.file, 0, 0, 1});
      return;
    }
    for (const csv::Cell& cell : document_.rows[0].cells) columns_.push_back(cell.text);
    for (std::size_t i = 1; i < document_.rows.size(); ++i) {
      const csv::Row& row = document_.rows[i];
      if (row.cells.size() == columns_.size())
        rows_.push_back(&row);
      else
        found.error("O1240", fmt::format("{} cells for {} columns", row.cells.size(), columns_.size()),
                    document_.place(row));
    }
  }

  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<const csv::Row*>& rows() const { return rows_; }

  // Index of a column, or an error.
  std::optional<std::size_t> column(const std::string& name) {
    const auto at = std::find(columns_.begin(), columns_.end(), name);
    if (at != columns_.end()) return static_cast<std::size_t>(at - columns_.begin());
    if (!columns_.empty())
      found_.error("O1240", fmt::format("this table has no column `{}`", name), document_.place(document_.rows[0]))
          .hint(base::did_you_mean(name, columns_));
    return std::nullopt;
  }

  std::string text(const csv::Cell& cell) {
    if (cell.text.empty()) wrong(cell, "a cell is empty that must not be");
    return cell.text;
  }
  std::optional<double> figure_or_nothing(const csv::Cell& cell) {
    if (cell.text.empty()) return std::nullopt;
    return number(cell, true);
  }
  double number(const csv::Cell& cell, bool not_negative) {
    const auto value = energy::number(energy::Value(cell.text));
    if (value && (*value >= 0 || !not_negative)) return *value;
    wrong(cell, fmt::format("`{}` is not a number{}", cell.text, not_negative ? " that is not negative" : ""));
    return 0;
  }
  void wrong(const csv::Cell& cell, std::string what) { found_.error("O1240", std::move(what), document_.place(cell)); }
  void wrong(std::string what) { found_.error("O1240", std::move(what), document_.place(document_.rows[0])); }

 private:
  base::Diagnostics& found_;
  csv::Document document_;
  std::vector<std::string> columns_;
  std::vector<const csv::Row*> rows_;
};

std::vector<std::string> alternatives(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

energy::Basis basis_of(const csv::Cell& cell, Sheet& sheet) {
  for (const auto basis :
       {energy::Basis::kPublished, energy::Basis::kModelled, energy::Basis::kMeasured, energy::Basis::kAssumed})
    if (cell.text == energy::name(basis)) return basis;
  sheet.wrong(cell, fmt::format("`{}` is not a basis: published, modelled, measured or assumed", cell.text));
  return energy::Basis::kAssumed;
}

energy::NodeScaling read_nodes(const File& energy_file, const File& area_file, base::Diagnostics& found) {
  energy::NodeScaling nodes;
  Sheet energies(energy_file, found);
  const auto node = energies.column("node_nm");
  const auto a = energies.column("a");
  const auto b = energies.column("b");
  const auto c = energies.column("c");
  if (!node || !a || !b || !c) return nodes;
  for (const csv::Row* row : energies.rows()) {
    const double nm = energies.number(row->cells[*node], true);
    if (!nodes.nodes_nm.empty() && nm >= nodes.nodes_nm.back())
      energies.wrong(row->cells[*node], "nodes stand in descending order");
    nodes.nodes_nm.push_back(nm);
    nodes.energy.push_back({energies.number(row->cells[*a], false), energies.number(row->cells[*b], false),
                            energies.number(row->cells[*c], false)});
  }
  Sheet areas(area_file, found);
  const auto same_node = [&](const std::string& written, std::size_t i) {
    return i < nodes.nodes_nm.size() && energy::number(energy::Value(written)) == nodes.nodes_nm[i];
  };
  bool square = areas.rows().size() == nodes.nodes_nm.size() && areas.columns().size() == nodes.nodes_nm.size() + 1;
  for (std::size_t i = 1; square && i < areas.columns().size(); ++i) square = same_node(areas.columns()[i], i - 1);
  for (std::size_t i = 0; square && i < areas.rows().size(); ++i) {
    const auto& cells = areas.rows()[i]->cells;
    square = same_node(cells[0].text, i);
    auto& factors = nodes.area.emplace_back();
    for (std::size_t k = 1; k < cells.size(); ++k) factors.push_back(areas.number(cells[k], true));
  }
  if (!square && !found.has_errors()) areas.wrong("rows and columns are not the nodes of the energies");
  return nodes;
}

std::vector<energy::DramType> read_dram(const File& file, base::Diagnostics& found) {
  std::vector<energy::DramType> types;
  Sheet sheet(file, found);
  const auto type = sheet.column("type");
  const auto energy = sheet.column("pj_per_bit");
  const auto source = sheet.column("source");
  if (!type || !energy || !source) return types;
  for (const csv::Row* row : sheet.rows())
    types.push_back(
        {sheet.text(row->cells[*type]), sheet.number(row->cells[*energy], true), sheet.text(row->cells[*source])});
  return types;
}

}  // namespace

std::vector<energy::LibraryRow> read_library(File file, base::Diagnostics& found) {
  std::vector<energy::LibraryRow> rows;
  Sheet sheet(std::move(file), found);
  const auto class_name = sheet.column("class");
  const auto action = sheet.column("action");
  const auto energy = sheet.column("energy");
  const auto area = sheet.column("area");
  const auto basis = sheet.column("basis");
  const auto source = sheet.column("source");
  if (!class_name || !action || !energy || !area || !basis || !source) return rows;

  std::vector<std::pair<std::size_t, energy::LibraryAttribute>> attributes;
  for (std::size_t i = 0; i < sheet.columns().size(); ++i) {
    if (i == *class_name || i == *action || i == *energy || i == *area || i == *basis || i == *source) continue;
    std::string names = sheet.columns()[i];
    const bool required = !names.empty() && names.back() == '!';
    if (required) names.pop_back();
    attributes.push_back({i, {alternatives(names), {}, required}});
  }
  for (const csv::Row* line : sheet.rows()) {
    const auto& cells = line->cells;
    energy::LibraryRow& row = rows.emplace_back();
    row.classes = alternatives(sheet.text(cells[*class_name]));
    row.actions = alternatives(sheet.text(cells[*action]));
    row.energy_pj = sheet.figure_or_nothing(cells[*energy]);
    row.area_um2 = sheet.figure_or_nothing(cells[*area]);
    row.basis = basis_of(cells[*basis], sheet);
    row.source = sheet.text(cells[*source]);
    for (const auto& [column, attribute] : attributes) {
      if (cells[column].text.empty()) continue;
      row.attributes.push_back(attribute);
      row.attributes.back().values = alternatives(cells[column].text);
    }
  }
  return rows;
}

CatalogueTables read_catalogue_tables(const std::string& folder, base::Diagnostics& found) {
  const auto file = [&](const char* name) { return yaml::read_file((std::filesystem::path(folder) / name).string()); };
  CatalogueTables tables;
  tables.nodes = read_nodes(file("node_energy.csv"), file("node_area.csv"), found);
  tables.dram = read_dram(file("dram.csv"), found);
  tables.library = read_library(file("accelergy_library.csv"), found);
  tables.aladdin = read_library(file("aladdin.csv"), found);
  tables.published = read_library(file("published.csv"), found);
  return tables;
}

}  // namespace orrery::formats::accelergy
