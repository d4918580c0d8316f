#include "orrery/formats/sanger/load_balance_rows.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/csv/csv.h"

namespace orrery::formats::sanger {
namespace {

constexpr std::size_t kColumns = masks::kLoadBalances + 1;
constexpr std::string_view kDensity = "overall-sparsity";

std::string_view column_name(std::size_t i) {
  return i < masks::kLoadBalances ? masks::kLoadBalanceNames[i] : kDensity;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kColumns; ++i) names.emplace_back(column_name(i));
  return names;
}

// Where each column stands in the file; O1830 where one is missing, stands twice or is not known.
std::array<std::size_t, kColumns> columns_of(const csv::Document& document, base::Diagnostics& found) {
  std::array<std::size_t, kColumns> at{};
  const csv::Row& header = document.rows.front();
  std::array<bool, kColumns> seen{};
  for (std::size_t c = 0; c < header.cells.size(); ++c) {
    std::size_t i = 0;
    while (i < kColumns && header.cells[c].text != column_name(i)) ++i;
    const base::Location where = document.place(header.cells[c]);
    if (i == kColumns)
      found.error("O1830", fmt::format("`{}` is not a column of a load balance log", header.cells[c].text), where)
          .hint(base::did_you_mean(header.cells[c].text, column_names(),
                                   fmt::format("its columns are {}", base::joined(column_names(), ", "))));
    else if (seen[i])
      found.error("O1830", fmt::format("the column `{}` stands twice", column_name(i)), where)
          .hint("leave one of them out");
    else
      seen[i] = true, at[i] = c;
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < kColumns; ++i)
    if (!seen[i]) missing.push_back(fmt::format("`{}`", column_name(i)));
  if (!missing.empty())
    found
        .error("O1830", fmt::format("a load balance log has the columns {}, too", base::joined(missing, ", ")),
               document.place(header))
        .hint("`orrery sparse measure -o DIR` and Sanger's log write such files");
  return at;
}

// NaN as Sanger's log has it for masks that keep nothing.
std::optional<double> number(const std::string& text) {
  if (text == "nan" || text == "-nan" || text == "NaN") return std::nan("");
  return base::parse_finite(text);
}

// The row's figures; nothing where one of them cannot be read.
std::optional<LoadBalanceRow> row_of(const csv::Document& document, const csv::Row& row, std::size_t columns,
                                     const std::array<std::size_t, kColumns>& at, base::Diagnostics& found) {
  if (row.cells.size() != columns) {
    found
        .error("O1831", fmt::format("the row has {} cells, the header {}", row.cells.size(), columns),
               document.place(row))
        .hint("each line is a mask, with a figure for each column");
    return std::nullopt;
  }
  LoadBalanceRow out;
  bool readable = true;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const csv::Cell& cell = row.cells[at[i]];
    const std::optional<double> value = number(cell.text);
    if (!value) {
      found.error("O1832", fmt::format("`{}` is not a number", cell.text), document.place(cell))
          .label(fmt::format("`{}` of a mask", column_name(i)))
          .hint("write a share such as 0.446437, or nan of a mask that keeps nothing");
      readable = false;
    } else if (*value < 0 || *value > 1) {
      found
          .error("O1833", fmt::format("`{}` is {}, and no share exceeds 1 or is below 0", column_name(i), cell.text),
                 document.place(cell))
          .note(i < masks::kLoadBalances ? "a load balance is the share of PE slots that compute something"
                                         : "what Sanger calls sparsity is the share of pairs that is kept")
          .hint("give it as a share, not in percent");
      readable = false;
    } else {
      (i < masks::kLoadBalances ? out.load_balance[i] : out.density) = *value;
    }
  }
  return readable ? std::optional(out) : std::nullopt;
}

bool keeps_something(const LoadBalanceRow& row) {
  bool all = row.density > 0;
  for (const double balance : row.load_balance) all = all && balance > 0;  // not nan, either
  return all;
}

}  // namespace

std::vector<LoadBalanceRow> load_balance_rows(const std::shared_ptr<const base::SourceFile>& file,
                                              base::Diagnostics& warnings) {
  base::Diagnostics found;
  const csv::Document document = csv::parse(file, csv::Comments::kNone, found);
  std::vector<LoadBalanceRow> rows;
  const base::Location whole{file, 0, 0, 1};
  if (document.rows.empty())
    base::fail("O1834", fmt::format("`{}` has no lines", file->name), whole,
               "`orrery sparse measure -o DIR` and Sanger's log write such files");
  const auto at = columns_of(document, found);
  found.throw_if_errors();
  for (std::size_t r = 1; r < document.rows.size(); ++r) {
    const auto row = row_of(document, document.rows[r], document.rows.front().cells.size(), at, found);
    if (!row) continue;
    if (keeps_something(*row))
      rows.push_back(*row);
    else
      warnings.warning("O1835", "a mask that keeps nothing has no load balance: left out of the means",
                       document.place(document.rows[r]));
  }
  found.throw_if_errors();
  if (rows.empty())
    base::fail("O1834", fmt::format("`{}` has no mask with a load balance", file->name), whole,
               "a line for each mask that keeps something is needed below the header");
  return rows;
}

}  // namespace orrery::formats::sanger
