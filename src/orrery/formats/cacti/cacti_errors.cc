#include "orrery/formats/cacti/cacti_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/text/text.h"
#include "orrery/formats/csv/csv.h"

namespace orrery::formats::cacti {
namespace {

constexpr std::array<std::string_view, 11> kColumns{"kind",         "technology_nm", "width_bits",   "capacity_bytes",
                                                    "banks",        "points",        "read_percent", "write_percent",
                                                    "leak_percent", "area_percent",  "source"};
constexpr std::size_t kKind = 0, kFirstBound = 1, kFirstPercent = 6, kFigures = 4, kSource = 10;

// In the order of energy::SramErrorKind.
constexpr std::array<std::string_view, energy::kSramErrorKinds> kKinds{
    "printed", "rows", "node", "ports", "mixed", "narrow", "beside", "shallow", "below", "above", "banks"};

class Reader {
 public:
  Reader(std::shared_ptr<const base::SourceFile> file, base::Diagnostics& found)
      : document_(csv::parse(std::move(file), csv::Comments::kHash, found)), found_(found) {}

  std::vector<energy::SramErrorRow> rows() {
    std::vector<energy::SramErrorRow> rows;
    if (!has_header()) return rows;
    for (std::size_t i = 1; i < document_.rows.size(); ++i) {
      const csv::Row& line = document_.rows[i];
      if (line.cells.size() == kColumns.size())
        rows.push_back(row(line));
      else
        wrong(document_.place(line), fmt::format("{} cells for {} columns", line.cells.size(), kColumns.size()));
    }
    return rows;
  }

 private:
  void wrong(const base::Location& place, const std::string& what) {
    found_.error("O1264", "the table of errors of SRAMs cannot be read: " + what, place);
  }

  bool has_header() {
    std::vector<std::string> names;
    if (!document_.rows.empty())
      for (const csv::Cell& cell : document_.rows[0].cells) names.push_back(cell.text);
    if (std::equal(names.begin(), names.end(), kColumns.begin(), kColumns.end())) return true;
    const base::Location place =
        document_.rows.empty() ? base::Location{document_.file, 0, 0, 1} : document_.place(document_.rows[0]);
    found_.error("O1264", "the table of errors of SRAMs has another header", place)
        .note(fmt::format("its header is: {}", base::joined(kColumns, ",")));
    return false;
  }

  // A count; 0, that is any, in an empty cell.
  template <class Number>
  Number count(const csv::Cell& cell, std::size_t column) {
    if (cell.text.empty()) return 0;
    const auto value = base::parse_number<Number>(cell.text);
    if (value && *value > 0) return *value;
    wrong(document_.place(cell), fmt::format("`{}` is not a count above 0, but `{}`", kColumns[column], cell.text));
    return 0;
  }

  energy::SramErrorRow row(const csv::Row& line) {
    energy::SramErrorRow row;
    const csv::Cell& kind = line.cells[kKind];
    const auto known = std::find(kKinds.begin(), kKinds.end(), kind.text);
    if (known != kKinds.end())
      row.kind = static_cast<energy::SramErrorKind>(known - kKinds.begin());
    else
      wrong(document_.place(kind),
            fmt::format("`{}` is not a kind; there are {}", kind.text, base::joined(kKinds, ", ")));
    std::size_t column = kFirstBound;
    row.technology_nm = count<int>(line.cells[column], column);
    ++column;
    row.width_bits = count<int>(line.cells[column], column);
    ++column;
    row.capacity_bytes = count<base::Count>(line.cells[column], column);
    ++column;
    row.banks = count<int>(line.cells[column], column);
    ++column;
    row.points = count<int>(line.cells[column], column);
    for (std::size_t i = 0; i < kFigures; ++i) {
      const csv::Cell& cell = line.cells[kFirstPercent + i];
      const auto percent = base::parse_number<double>(cell.text);
      if (percent && *percent > 0 && std::isfinite(*percent))
        row.percent[i] = *percent;
      else
        wrong(document_.place(cell),
              fmt::format("`{}` is not a number above 0, but `{}`", kColumns[kFirstPercent + i], cell.text));
    }
    if (line.cells[kSource].text.empty()) wrong(document_.place(line), "a row has no source");
    return row;
  }

  csv::Document document_;
  base::Diagnostics& found_;
};

}  // namespace

std::string_view name(energy::SramErrorKind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

energy::SramErrors read_sram_errors(std::shared_ptr<const base::SourceFile> file, base::Diagnostics& found) {
  return energy::SramErrors(Reader(std::move(file), found).rows());
}

}  // namespace orrery::formats::cacti
