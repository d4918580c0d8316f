// The capacity-aware bound of the lattice search: each level on its own with the cheapest tile that fits it.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/nest/lattice_problem.h"
#include "orrery/nest/lattice_table.h"

namespace orrery::nest::lattice {

// Under one layout. Prices fall as tiles grow, so only tiles that no other fitting one contains matter; they
// depend on the level and what it keeps, and are listed once. One dataspace per level is priced with its run
// at its largest, since only the innermost loop outside gives one. Borrows its arguments.
class CapacityBound {
 public:
  CapacityBound(const Problem& problem, const Prices& prices);

  // Energy of all boundaries, at least; infinite when some level cannot hold even the smallest tile.
  double energy_pj(const Keepers& keepers);
  // What the compute units read from the innermost of `keepers`.
  double innermost_pj(int s, std::uint32_t keepers) const { return innermost_pj_[s][__builtin_ctz(keepers)]; }

 private:
  // By index of the divisor that is reused.
  const std::vector<double>& prices(int s, int a, int b);
  // The largest tiles of level a that hold `kept`, as indices of divisors.
  const std::vector<Triple<int>>& fitting(int a, std::uint32_t kept);

  const Problem& problem_;
  const Prices& prices_;
  Triple<std::vector<base::Count>> divisors_;
  std::vector<std::vector<Triple<int>>> tiles_;  // [level][kept]
  std::vector<char> listed_;
  std::vector<std::vector<double>> price_;  // [dataspace][inner level][outer level]
  Triple<std::vector<double>> innermost_pj_;
};

}  // namespace orrery::nest::lattice
