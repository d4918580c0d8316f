#include "orrery/formats/cacti/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "orrery/base/text/text.h"

namespace orrery::formats::cacti {
namespace {

struct Column {
  std::string_view name;
  energy::SramFigure figure;
  double unit;  // to ours
};

constexpr double kPjPerNj = 1000;
constexpr std::array<Column, energy::kSramFigures> kResultColumns{
    {{"Dynamic read energy (nJ)", energy::kRead, kPjPerNj},
     {"Dynamic write energy (nJ)", energy::kWrite, kPjPerNj},
     {"Standby leakage per bank(mW)", energy::kLeak, 1},
     {"Area (mm2)", energy::kArea, 1},
     {"Access time (ns)", energy::kAccess, 1}}};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts = base::split(text, at);
  for (std::string_view& part : parts) part = base::trimmed(part);
  return parts;
}

}  // namespace

std::variant<energy::SramFigures, std::string> read_result(std::string_view csv, int banks) {
  std::vector<std::string_view> lines = split(csv, '\n');
  std::erase_if(lines, [](std::string_view line) { return line.empty(); });
  if (lines.size() < 2) return std::string("its result holds no row of figures");
  const auto header = split(lines.front(), ','), row = split(lines.back(), ',');

  energy::SramFigures figures{};
  for (const Column& column : kResultColumns) {
    const auto at = std::find(header.begin(), header.end(), column.name);
    if (at == header.end()) return fmt::format("its result has no column `{}`", column.name);
    const auto index = static_cast<std::size_t>(at - header.begin());
    const std::string_view cell = index < row.size() ? row[index] : std::string_view{};
    const std::optional<double> value = base::parse_finite(cell);
    if (!value || *value <= 0) return fmt::format("its result has `{}` as `{}`", cell, column.name);
    figures[column.figure] = *value * column.unit;
  }
  figures[energy::kLeak] *= banks;
  return figures;
}

}  // namespace orrery::formats::cacti
