// Figures between the points of a table by straight lines in double logarithms.
//
// On the line of each width: log(figure) over log(capacity) between the two nearest capacities; between the two
// nearest widths over log(width). Beyond the last point of a line its last slope goes on. Simple, and independent of
// organisations: used where nothing better is known (two ports; surface without organisations).
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::energy {

class SramGrid {
 public:
  explicit SramGrid(const SramTable& table);

  // Natural logarithms of the figures; nothing where the table has fewer than two capacities or widths around for
  // these banks and ports.
  std::optional<SramFigures> logarithms(const SramPoint& point) const;

 private:
  struct Knot {
    double log_capacity = 0;
    SramFigures logarithms{};
  };
  using Line = std::vector<Knot>;                             // by capacity
  std::map<std::pair<int, int>, std::map<int, Line>> lines_;  // (banks, ports), width
};

}  // namespace orrery::energy
