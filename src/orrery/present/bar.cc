#include "orrery/present/bar.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {

std::string bar(double share, int cells) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clean = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  const int eighths = static_cast<int>(base::saturated(std::round(clean * cells * 8)));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

std::string bar_chart(const std::vector<ChartRow>& rows, double total, const std::string& shown_total) {
  constexpr int kCells = 32;
  double longest = 0;
  for (const ChartRow& row : rows) longest = std::max(longest, row.size);
  Table table;
  table.left_columns = {3};
  const auto share = [&](double size) { return total > 0 ? fmt::format("{:.1f} %", 100 * size / total) : "-"; };
  for (const ChartRow& row : rows)
    if (row.size != 0)
      table.rows.push_back(
          {row.name, row.shown, share(row.size), longest > 0 ? bar(row.size / longest, kCells) : std::string()});
  if (!shown_total.empty()) table.rows.push_back({"total", shown_total, "", ""});
  return text(table);
}

}  // namespace orrery::verbs
