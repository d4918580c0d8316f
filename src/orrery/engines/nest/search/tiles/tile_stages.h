// The spatial factors of a chip's fan-outs, gathered into few that differ in what crossings cost.
//
// Fan-outs with nothing between them that keeps or loops are one stage: how its factors are dealt to them does not
// matter. Of a stage's spreads, all with the same multicast and scatter of every dataspace make a signature: under the
// relaxation of tile_fronts.h they cost the same, whichever dimensions they spread.
#pragma once

#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/tiles/tile_problem.h"

namespace orrery::nest::tiles {

struct Spread {
  std::vector<int> choice;  // of each level of the stage: index into Space::spatial
  Factors factor;           // all of them together
};

struct Signature {
  std::vector<Fanout> fanouts;  // of each level of the stage
  double instances = 1;
  std::vector<Spread> spreads;
};

struct Stage {
  int first = 0, last = 0;            // levels
  std::vector<Signature> signatures;  // the widest first
};

// All stages, the innermost first. Spreads of fewer than `least` instances in all, times what `widest` the other
// stages can be, are left out. Ends early where the budget does; then `complete` is false.
std::vector<Stage> list_stages(const Problem& problem, double least, const base::Budget& budget, bool& complete);

// Fan-outs that are no dearer for any dataspace than any of the stage's.
std::vector<Fanout> ideal(const Problem& problem, const Stage& stage);

}  // namespace orrery::nest::tiles
