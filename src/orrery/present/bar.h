// Horizontal bars for terminals, drawn in eighths of a cell.
#pragma once

#include <string>
#include <vector>

namespace orrery::verbs {

// A bar of `share` (0 to 1, anything else is clipped) of `cells` cells, without padding.
std::string bar(double share, int cells);

// One line of a chart: what, its size, and the size as it is to be printed.
struct ChartRow {
  std::string name;
  double size = 0;
  std::string shown;
};

// A line a row: name, size, share of `total` in percent, bar; the longest bar fills the width. Rows of size 0 are left
// out. Ends with a line `total` where `shown_total` is given.
std::string bar_chart(const std::vector<ChartRow>& rows, double total, const std::string& shown_total = {});

}  // namespace orrery::verbs
