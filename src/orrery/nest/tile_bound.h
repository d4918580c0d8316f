// What a configuration costs at least, found much faster than its table.
#pragma once

#include "orrery/nest/tile_table.h"

namespace orrery::nest::tiles {

// Energy without leakage: computes, what they ask of the innermost keepers, and for each storage the cheapest tile that
// fits it, given that the loop next outside it lengthens the runs of some dataspaces or slides along one axis, but does
// not do both to all. Infinite where something fits nowhere.
double least_energy_pj(const Prices& prices, const Lattice& lattice);

// Words of s that enter each instance of storage a at least: each position along an axis to which one dimension alone
// moves, once.
double least_words(const Prices& prices, int s, int a);

}  // namespace orrery::nest::tiles
