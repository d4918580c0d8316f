// Bound 1 of the lattice search: each dataspace alone.
#pragma once

#include "orrery/engines/nest/search/lattice/lattice_boundary.h"

namespace orrery::nest::lattice {

// Energy of each dataspace, kept where that is cheapest, computes apart.
double least_chains_pj(const LatticeProblem& problem, const Prices& prices);

// The loads of what is kept of dataspace s that load each resource the least.
Loads least_chain_loads(Boundaries& boundaries, int s);

}  // namespace orrery::nest::lattice
