// Words that neighbouring instances hand to each other instead of reading them from above (Timeloop's link transfers).
#pragma once

#include <span>
#include <vector>

#include "orrery/engines/nest/model/boxes.h"

namespace orrery::nest {

// The instances that a fan-out spreads over, in the order in which Timeloop lays them on its grid, row by row.
struct Grid {
  base::Count width = 1;
  std::vector<Position> positions;  // of each instance's box, from that of the first
};

struct LinkedWords {
  base::Count accesses = 0;    // words read from above, shared ones once
  base::Count deliveries = 0;  // words that instances receive from above
  base::Count links = 0;       // words that they receive from neighbours
};

// What one instance of a level passes to the instances below it while the loops outside them run.
enum class Keeping {
  kPoints,  // compute units hold nothing: a point is wanted at every step
  kWhole,   // without temporal reuse: the whole box is wanted at every step
  kBoxes,   // what the box newly covers
};
LinkedWords words_with_links(std::size_t ranks, const Position& sides, std::span<const Loop> outermost_first,
                             const Grid& grid, Keeping keeping, bool shared);

}  // namespace orrery::nest
