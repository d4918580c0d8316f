#include "orrery/formats/cacti/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace orrery::formats::cacti {
namespace {

struct Column {
  std::string_view name;
  energy::SramFigure figure;
  double unit;  // to ours
};

constexpr double kPjPerNj = 1000;
constexpr std::array<Column, energy::kSramFigures> kResultColumns{{{"Dynamic read energy (nJ)", energy::kRead, kPjPerNj},
                                                             {"Dynamic write energy (nJ)", energy::kWrite, kPjPerNj},
                                                             {"Standby leakage per bank(mW)", energy::kLeak, 1},
                                                             {"Area (mm2)", energy::kArea, 1},
                                                             {"Access time (ns)", energy::kAccess, 1}}};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
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
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value) || !(value > 0))
      return fmt::format("its result has `{}` as `{}`", cell, column.name);
    figures[column.figure] = value * column.unit;
  }
  figures[energy::kLeak] *= banks;
  return figures;
}

}  // namespace orrery::formats::cacti
