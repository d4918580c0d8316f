#include "orrery/formats/cacti/cacti_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "orrery/base/text/text.h"

namespace orrery::formats::cacti {
namespace {

// Sorted by technology. The last four may be empty: CACTI's organisation is not known.
constexpr std::array<std::string_view, 15> kCactiTableColumns{
    "tech_nm",  "banks",     "rw_ports", "width_bits", "capacity_bytes", "read_pj", "write_pj", "leak_mw",
    "area_mm2", "access_ns", "cycle_ns", "nspd",       "ndwl",           "ndbl",    "mux"};
constexpr std::size_t kFirstFigure = 5, kFirstOptional = 10, kFirstOrganisation = 11;

struct Line {
  std::string_view text;
  int number = 0;
};

// The next line that is neither empty nor a comment.
std::optional<Line> next_line(std::string_view text, std::size_t& at, int& number) {
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') return Line{line, number};
  }
  return std::nullopt;
}

std::string header() {
  return base::joined(kCactiTableColumns, ",");
}

// Where the rows begin; errors when the header is another.
std::size_t skip_header(const std::shared_ptr<const base::SourceFile>& file, int& number, base::Diagnostics& found) {
  std::size_t at = 0;
  const auto line = next_line(file->text, at, number);
  const std::string expected = header();
  if (line && line->text == expected) return at;
  std::string missing;
  const std::string with_commas = line ? fmt::format(",{},", line->text) : "";
  for (const std::string_view column : kCactiTableColumns)
    if (missing.empty() && with_commas.find(fmt::format(",{},", column)) == std::string::npos) missing = column;
  found
      .error("O1250",
             missing.empty() ? std::string("the table of SRAM figures has its columns in another order")
                             : fmt::format("the table of SRAM figures has no column `{}`", missing),
             {file, line ? line->number : 0, line ? 1 : 0, line ? static_cast<int>(line->text.size()) : 1})
      .note("its header is: " + expected);
  return file->text.size();
}

int technology_of(std::string_view line) {
  int technology = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), technology);
  return error == std::errc() && end != line.data() + line.size() && *end == ',' ? technology : -1;
}

// Reads a number and the comma behind it (or the end of the line).
template <class Number>
bool take(const char*& at, const char* end, Number& value) {
  const auto [after, error] = std::from_chars(at, end, value);
  if (error != std::errc() || (after != end && *after != ',')) return false;
  at = after == end ? end : after + 1;
  return true;
}

// The number of the first bad column, or nothing.
std::optional<std::size_t> read_row(std::string_view line, energy::SramRow& row) {
  if (static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1 != kCactiTableColumns.size())
    return kCactiTableColumns.size();
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  int technology = 0;
  if (!take(at, end, technology)) return 0;
  if (!take(at, end, row.point.banks) || row.point.banks < 1) return 1;
  if (!take(at, end, row.point.ports) || row.point.ports < 1) return 2;
  if (!take(at, end, row.point.width_bits) || row.point.width_bits < 1) return 3;
  if (!take(at, end, row.point.capacity_bytes) || row.point.capacity_bytes < 1) return 4;
  for (std::size_t i = 0; i < energy::kSramFigures; ++i)
    if (!take(at, end, row.figures[i]) || !(row.figures[i] > 0) || !std::isfinite(row.figures[i]))
      return kFirstFigure + i;
  double cycle = 0;
  if (*at == ',')
    ++at;
  else if (!take(at, end, cycle))
    return kFirstOptional;
  if (at == end || *at == ',') return std::nullopt;  // no organisation
  std::size_t column = kFirstOrganisation;
  auto& organisation = row.organisation;
  for (int* value : {&organisation.nspd, &organisation.ndwl, &organisation.ndbl, &organisation.mux}) {
    if (!take(at, end, *value) || *value < 1) return column;
    ++column;
  }
  return std::nullopt;
}

void report(const std::shared_ptr<const base::SourceFile>& file, const Line& line, std::size_t column,
            base::Diagnostics& found) {
  const base::Location place{file, line.number, 1, static_cast<int>(line.text.size())};
  if (column == kCactiTableColumns.size())
    found.error("O1251", fmt::format("a row of SRAM figures has {} cells", kCactiTableColumns.size()), place)
        .label(fmt::format("this one has {}", std::count(line.text.begin(), line.text.end(), ',') + 1));
  else
    found.error("O1251",
                fmt::format("`{}` of a row of SRAM figures is not a number above 0", kCactiTableColumns[column]),
                place);
}

}  // namespace

energy::SramTable read_sram_table(const std::shared_ptr<const base::SourceFile>& file, int technology_nm,
                                  base::Diagnostics& found) {
  energy::SramTable table;
  table.technology_nm = technology_nm;
  int number = 0;
  std::size_t at = skip_header(file, number, found);
  while (const auto line = next_line(file->text, at, number)) {
    const int technology = technology_of(line->text);
    if (technology < 0) report(file, *line, 0, found);
    if (technology != technology_nm) continue;
    energy::SramRow row;
    if (const auto bad = read_row(line->text, row))
      report(file, *line, *bad, found);
    else
      table.rows.push_back(row);
  }
  return table;
}

energy::SramSurfaces sram_surfaces(std::shared_ptr<const base::SourceFile> file,
                                   std::shared_ptr<const base::SourceFile> runners_up) {
  struct Kept {
    std::mutex mutex;
    std::map<int, std::shared_ptr<const energy::SramSurface>> surfaces;
  };
  base::Diagnostics header_errors;
  for (const auto& one : {file, runners_up}) {
    int number = 0;
    if (one) skip_header(one, number, header_errors);
  }
  header_errors.throw_if_errors();

  return
      [file = std::move(file), runners_up = std::move(runners_up), kept = std::make_shared<Kept>()](int technology_nm) {
        const std::lock_guard lock(kept->mutex);
        if (const auto known = kept->surfaces.find(technology_nm); known != kept->surfaces.end()) return known->second;
        base::Diagnostics found;
        energy::SramTable table = read_sram_table(file, technology_nm, found);
        if (runners_up) table.runners_up = read_sram_table(runners_up, technology_nm, found).rows;
        found.throw_if_errors();
        std::shared_ptr<const energy::SramSurface> surface;
        if (!table.rows.empty()) surface = std::make_shared<const energy::SramSurface>(std::move(table));
        kept->surfaces.emplace(technology_nm, surface);
        return surface;
      };
}

}  // namespace orrery::formats::cacti
