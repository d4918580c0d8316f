// A path through the lattice as a mapping.
#pragma once

#include <utility>

#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/search/lattice/lattice_table.h"

namespace orrery::nest::lattice {

// The tile at the innermost level, then each level that iterates with its innermost loop and the tile after it.
using Path = std::vector<Table::Step>;

Mapping mapping_of(const LatticeProblem& problem, const SpatialLayout& layout, const Keeps& keeps, const Table& table,
                   const Path& path);

// The least of a table, and the tile at the innermost level that has it.
std::pair<double, int> cheapest(const Table& table);
// A cheapest path from there.
Path path_from(const Table& table, int levels, int start);

// The total loads of a path; `loads` are those of the compute units' reads.
Loads loads_of(Boundaries& boundaries, const Keeps& keeps, const Table& table, const Path& path, Loads loads);

}  // namespace orrery::nest::lattice
