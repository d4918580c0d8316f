// A path through the lattice as a mapping.
#pragma once

#include "orrery/nest/lattice_table.h"
#include "orrery/nest/mapping.h"

namespace orrery::nest::lattice {

// The tile at the innermost level, then each level that iterates with its innermost loop and the tile after it.
using Path = std::vector<Table::Step>;

Mapping mapping_of(const LatticeProblem& problem, const SpatialLayout& layout, const Keepers& keepers,
                   const Table& table, const Path& path);

}  // namespace orrery::nest::lattice
