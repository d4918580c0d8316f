// Words that cross a boundary whose run a step ends, and what a slide saves when loops further out take it up.
#pragma once

#include <span>

#include "orrery/engines/nest/search/tiles/tile_problem.h"
#include "orrery/engines/nest/search/tiles/tile_steps.h"

namespace orrery::nest::tiles {

// Words that cross the boundary of s below storage a, all together, when loops of `level` end its run. `inside`: the
// tile that temporal loops inside that level span; `loops`: factors of the level's loops. `spared`: the share of a box
// that each pass is spared further out.
double words_crossing(const Prices& prices, int s, int a, int level, const Factors& inside, const Step& step,
                      const Factors& loops, double spared = 0);

// Whether a loop outside `level` could take up the slide that ends at this step at all. `left`: what temporal loops
// share.
bool may_continue(const Problem& problem, const Factors& left, int s, const Step& step, int level);

// The share of a box that each pass of the slide may be spared further out, at most; 0: nothing takes it up. `known`:
// factors of the levels from level + 1 on, as far as they are chosen, in whichever order.
double spared_further(const Prices& prices, int s, int a, int level, const Factors& inside, const Step& step,
                      const Factors& loops, std::span<const Factors* const> known = {});

// The same if all loops that are left along the axis took it up and brought nothing by that.
double spared_by_all(const Prices& prices, const Axis& axis, const Factors& inside, const Factors& loops);

}  // namespace orrery::nest::tiles
