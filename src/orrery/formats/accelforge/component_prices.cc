#include "orrery/formats/accelforge/component_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "orrery/base/text/text.h"
#include "orrery/formats/csv/csv.h"

namespace orrery::formats::accelforge {
namespace {

// The columns before the first and after the last attribute.
constexpr std::size_t kClass = 0, kFirst = 1, kAfter = 5;

double number_in(const csv::Document& document, const csv::Cell& cell) {
  if (cell.text == "inf") return std::numeric_limits<double>::infinity();
  const auto value = base::parse_number<double>(cell.text);
  if (!value) base::fail("O2106", fmt::format("`{}` is no number", cell.text), document.place(cell));
  return *value;
}

}  // namespace

// Columns: class, attributes, action, energy, throughput, leak_power, source.
ComponentPrices ComponentPrices::read(const std::shared_ptr<const base::SourceFile>& file) {
  base::Diagnostics found;
  const csv::Document document = csv::parse(file, csv::Comments::kHash, found);
  found.throw_if_errors();
  ComponentPrices prices;
  for (std::size_t i = 1; i < document.rows.size(); ++i) {
    const auto& header = document.rows[0].cells;
    const auto& cells = document.rows[i].cells;
    if (cells.size() != header.size() || cells.size() < kFirst + kAfter)
      base::fail("O2106", "the table of AccelForge's components has a row that its header does not fit",
                 document.place(document.rows[i]));
    const std::size_t after = cells.size() - kAfter;
    Row row{cells[kClass].text, {}, cells[after].text, {}};
    for (std::size_t k = kFirst; k < after; ++k)
      if (!cells[k].text.empty()) row.attributes[header[k].text] = number_in(document, cells[k]);
    row.price = {number_in(document, cells[after + 1]), number_in(document, cells[after + 2]),
                 number_in(document, cells[after + 3])};
    prices.rows_.push_back(std::move(row));
  }
  return prices;
}

std::optional<ActionPrice> ComponentPrices::find(const std::string& component_class, const PriceAttributes& attributes,
                                                 const std::string& action) const {
  const auto fits = [&](const Row& row) {
    return row.component_class == component_class && row.action == action && row.attributes == attributes;
  };
  const auto row = std::find_if(rows_.begin(), rows_.end(), fits);
  return row == rows_.end() ? std::nullopt : std::optional(row->price);
}

bool ComponentPrices::knows(const std::string& component_class) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const Row& row) { return row.component_class == component_class; });
}

std::vector<std::string> ComponentPrices::described(const std::string& component_class) const {
  std::vector<std::string> all;
  for (const Row& row : rows_) {
    if (row.component_class != component_class) continue;
    std::string text;
    for (const auto& [name, value] : row.attributes)
      text += fmt::format("{}{} {:g}", text.empty() ? "" : ", ", name, value);
    if (!base::contains(all, text)) all.push_back(std::move(text));
  }
  return all;
}

}  // namespace orrery::formats::accelforge
