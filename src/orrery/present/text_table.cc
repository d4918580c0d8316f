#include "orrery/present/text_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/table_form.h"

namespace orrery::verbs {
namespace {

std::string pad(const std::string& cell, std::size_t width, bool left) {
  const std::string space(width - std::min(width, shown_width(cell)), ' ');
  return left ? cell + space : space + cell;
}

}  // namespace

std::size_t shown_width(const std::string& cell) {
  return static_cast<std::size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string energy_uj(double energy_pj) {
  const double uj = energy_pj / 1e6;
  return uj > 0 && uj < 0.01 ? fmt::format("{:.3g}", uj) : fmt::format("{:.2f}", uj);
}
std::string energy_with_unit(double energy_pj) {
  if (energy_pj >= 1e13) return fmt::format("{:.2f} J", energy_pj / 1e12);
  if (energy_pj == 0 || energy_pj >= 1e4) return fmt::format("{:.2f} uJ", energy_pj / 1e6);
  return energy_pj >= 10 ? fmt::format("{:.2f} nJ", energy_pj / 1e3) : fmt::format("{:.3g} pJ", energy_pj);
}
std::string edp(double edp_j_cycles) {
  return fmt::format("{:.4g}", edp_j_cycles);
}
std::string percent(double share) {
  return fmt::format("{:.2f}", 100 * share);
}

std::string text(const Table& table) {
  if (table_form() != TableForm::kText) return marked_table(table);
  std::vector<std::size_t> widths;
  const auto widen = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  };
  widen(table.header);
  for (const auto& row : table.rows) widen(row);

  std::size_t total = 0;
  for (std::size_t width : widths) total += width + 2;
  const std::string rule = std::string(total < 2 ? 0 : total - 2, '-') + "\n";

  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const bool left =
          i == 0 || std::find(table.left_columns.begin(), table.left_columns.end(), i) != table.left_columns.end();
      line += pad(row[i], widths[i], left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  if (!table.header.empty()) {
    add(table.header);
    out += rule;
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (std::count(table.rules_before.begin(), table.rules_before.end(), i)) out += rule;
    add(table.rows[i]);
  }
  return out;
}

std::string shown_seconds(double seconds) {
  const auto digits = [](double value, const char* unit) {
    return fmt::format("{:.{}f} {}", value, value < 10 ? 3 : value < 100 ? 2 : 1, unit);
  };
  if (!(seconds > 0)) return "0 s";
  if (seconds >= 2 * 86400.0) return digits(seconds / 86400, "d");
  if (seconds >= 2 * 3600.0) return digits(seconds / 3600, "h");
  if (seconds >= 1) return digits(seconds, "s");
  return seconds >= 1e-3 ? digits(seconds * 1e3, "ms") : digits(seconds * 1e6, "us");
}

}  // namespace orrery::verbs
