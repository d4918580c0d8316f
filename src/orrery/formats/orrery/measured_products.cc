#include "orrery/formats/orrery/measured_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/csv/csv.h"

namespace orrery::formats::orrery {
namespace {

namespace csv = formats::csv;

const std::vector<std::string>& columns() {
  static const std::vector<std::string> names = {"m", "n", "k", "seconds", "batch", "precision"};
  return names;
}

constexpr std::size_t kNeeded = 4;  // of them, the first

// AIConfigurator's table of GEMMs: the column that takes ours' place, and columns that say nothing of a product.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOtherNames = {
    {{"latency", "seconds"}, {"gemm_dtype", "precision"}}};
constexpr std::array<std::string_view, 4> kUnused = {"framework", "version", "op_name", "kernel_source"};
constexpr std::array<std::string_view, 2> kDevices = {"device", "gpu"};
constexpr double kMilliseconds = 1e-3;

std::string our_name(const std::string& name) {
  for (const auto& [other, ours] : kOtherNames)
    if (name == other) return std::string(ours);
  return name;
}

bool is_precision_of_16_bits(const std::string& name) {
  return name == "bfloat16" || name == "float16";
}

// Column by name; wrong headers are reported.
std::map<std::string, std::size_t> read_header(const csv::Document& table, base::Diagnostics& found) {
  std::map<std::string, std::size_t> places;
  const std::vector<csv::Cell>& cells = table.rows.front().cells;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = our_name(cells[i].text);
    if (std::find(kUnused.begin(), kUnused.end(), name) != kUnused.end()) continue;
    if (std::find(kDevices.begin(), kDevices.end(), name) != kDevices.end()) {
      const auto device = [&](const csv::Row& row) { return i < row.cells.size() ? row.cells[i].text : ""; };
      const auto other = std::find_if(table.rows.begin() + 1, table.rows.end(),
                                      [&](const csv::Row& row) { return device(row) != device(table.rows[1]); });
      if (other != table.rows.end())
        found.error("O1377",
                    fmt::format("a table of measurements is of one accelerator, not of `{}` and `{}`",
                                device(table.rows[1]), device(*other)),
                    table.place(*other));
      continue;
    }
    if (std::find(columns().begin(), columns().end(), name) == columns().end()) {
      found.error("O1377", fmt::format("a table of measurements has no column `{}`", name), table.place(cells[i]))
          .hint(base::did_you_mean(name, columns(), fmt::format("columns are {}", base::joined(columns(), ", "))));
    } else if (!places.emplace(name, i).second) {
      found.error("O1377", fmt::format("column `{}` occurs twice", name), table.place(cells[i]));
    }
  }
  for (std::size_t i = 0; i < kNeeded; ++i)
    if (places.count(columns()[i]) == 0 && !found.has_errors())
      found.error("O1377", fmt::format("column `{}` is missing", columns()[i]), table.place(table.rows.front()));
  return places;
}

template <typename Number>
std::optional<Number> number(const std::string& text) {
  const auto value = base::parse_number<Number>(text, 0, std::numeric_limits<Number>::max());
  return value && *value > 0 ? value : std::nullopt;
}

class RowReader {
 public:
  RowReader(const csv::Document& table, const csv::Row& row, const std::map<std::string, std::size_t>& places,
            base::Diagnostics& found)
      : table_(table), row_(row), places_(places), found_(found) {}

  machine::MeasuredProduct read() {
    machine::MeasuredProduct measured;
    measured.product.m = size("m");
    measured.product.n = size("n");
    measured.product.k = size("k");
    measured.product.batch = size("batch");
    if (const csv::Cell* cell = find("precision")) {
      const auto known = std::find_if(cluster::precisions().begin(), cluster::precisions().end(),
                                      [&](const auto& precision) { return precision.first == cell->text; });
      if (is_precision_of_16_bits(cell->text)) {
        measured.product.precision = machine::Precision::kBf16;
      } else if (known == cluster::precisions().end()) {
        wrong(*cell, "`precision` must be fp32, tf32, bf16, fp8, mxfp8 or nvfp4");
      } else {
        measured.product.precision = known->second;
      }
    }
    const csv::Cell* cell = find("seconds");
    const std::optional<double> seconds = cell ? number<double>(cell->text) : std::nullopt;
    if (cell && !seconds) wrong(*cell, "`seconds` must be a number above 0");
    const bool milliseconds = cell != nullptr && table_.rows.front().cells[places_.at("seconds")].text == "latency";
    if (seconds && !(*seconds >= 1e-30 && *seconds <= 1e30)) wrong(*cell, "`seconds` must be from 1e-30 to 1e30");
    measured.seconds = seconds.value_or(1) * (milliseconds ? kMilliseconds : 1);
    return measured;
  }

 private:
  const csv::Cell* find(const std::string& column) const {
    const auto place = places_.find(column);
    return place == places_.end() ? nullptr : &row_.cells[place->second];
  }

  void wrong(const csv::Cell& cell, std::string message) {
    found_.error("O1377", std::move(message), table_.place(cell));
  }

  base::Count size(const std::string& column) {
    const csv::Cell* cell = find(column);
    if (cell == nullptr) return 1;
    const std::optional<base::Count> value = number<base::Count>(cell->text);
    if (!value || *value > cluster::kMostInModel)
      wrong(*cell, fmt::format("`{}` must be a whole number from 1 to {}", column, cluster::kMostInModel));
    return value.value_or(1);
  }

  const csv::Document& table_;
  const csv::Row& row_;
  const std::map<std::string, std::size_t>& places_;
  base::Diagnostics& found_;
};

}  // namespace

std::vector<machine::MeasuredProduct> read_measured_products(const std::shared_ptr<const base::SourceFile>& file) {
  base::Diagnostics found;
  const csv::Document table = csv::parse(file, csv::Comments::kHash, found);
  found.throw_if_errors();
  if (table.rows.size() < 2)
    base::fail("O1377", "a table of measurements has a header and a row for each product", {file, 0, 0, 1},
               "the columns are m, n, k, seconds, and optionally batch and precision");
  const std::map<std::string, std::size_t> places = read_header(table, found);
  found.throw_if_errors();
  std::vector<machine::MeasuredProduct> products;
  for (auto row = table.rows.begin() + 1; row != table.rows.end(); ++row) {
    if (row->cells.size() != table.rows.front().cells.size()) {
      found.error(
          "O1377",
          fmt::format("this row has {} cells, the header {}", row->cells.size(), table.rows.front().cells.size()),
          table.place(*row));
      continue;
    }
    products.push_back(RowReader(table, *row, places, found).read());
  }
  found.throw_if_errors();
  return products;
}

}  // namespace orrery::formats::orrery
