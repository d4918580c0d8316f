// The ways in which the loops of one level can end the runs of what is kept inside it, for the search over tiles.
//
// What a block of loops means for the tiles inside depends on its innermost loops only: for each dataspace those inside
// the first loop that moves it (its run), and, where windows slide, that loop and the next one along the same axis. The
// loops further out may stand in any order that constraints allow. A Step is one choice of these innermost loops.
//
// A step may be taken with any factors, 1 included, of the dimensions that it does not call `unit`: what it charges is
// then too much at most, and another step charges it right. So few steps cover all orders of all sets of loops.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "orrery/engines/nest/search/tiles/tile_problem.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest::tiles {

struct Step {
  std::array<std::uint32_t, kMaxDataspaces> run{};  // dimensions of the loops inside the first that moves s
  // The loop that ends the run of a dataspace whose windows slide along it, the next loop along the same axis; or -1.
  std::array<std::int8_t, kMaxDataspaces> first{}, second{};
  std::uint32_t open = 0;   // dataspaces that no loop here may move: their runs go on outwards
  std::uint32_t unit = 0;   // dimensions that must not iterate here
  std::uint32_t named = 0;  // dimensions of runs, first and second loops
  std::vector<int> order;   // loops that have their place, from the inside
};

// Whether `b` may be taken wherever `a` may, at no greater cost to these dataspaces.
bool stands_in(const Step& b, const Step& a, std::uint32_t dataspaces);

// All that may differ in cost at `level`, which is not the innermost.
std::vector<Step> list_steps(const Problem& problem, const Space& space, int level);

}  // namespace orrery::nest::tiles
