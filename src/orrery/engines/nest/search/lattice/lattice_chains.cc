// A shortest path over the levels for each dataspace, every run at its largest. Cost: levels^2.
#include "orrery/engines/nest/search/lattice/lattice_chains.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

using base::Count;

namespace {

std::uint32_t must_keep(const LatticeProblem& problem, int s) {
  std::uint32_t must = 0;
  for (std::size_t a = 0; a < problem.levels.size(); ++a) must |= (problem.levels[a].must_keep >> s & 1) << a;
  return must;
}

// Shortest path over what is kept of dataspace s, every run at its largest: innermost(b) and crossing(a, b) add up.
template <typename Innermost, typename Crossing>
double least_chain(const LatticeProblem& problem, int s, const Innermost& innermost, const Crossing& crossing) {
  const int levels = static_cast<int>(problem.levels.size());
  const std::uint32_t must = must_keep(problem, s);
  std::array<double, kMostLevels> least;
  double ended = kNever;
  for (int b = 0; b < levels; ++b) {
    least[b] = kNever;
    if (!(problem.levels[b].may_keep >> s & 1)) continue;
    if ((must & ((1u << b) - 1)) == 0) least[b] = innermost(b);
    for (int a = b - 1; a >= 0; --a) {
      if (least[a] < kNever) least[b] = std::min(least[b], least[a] + crossing(a, b));
      if (must >> a & 1) break;
    }
    if (must >> b <= 1) ended = std::min(ended, least[b]);
  }
  return ended;
}

}  // namespace

double least_chains_pj(const LatticeProblem& problem, const Prices& prices) {
  double energy_pj = 0;
  for (int s = 0; s < kSpaces && energy_pj < kNever; ++s) {
    const Count most = prices.layout().left[problem.blind[s]];
    energy_pj += least_chain(
        problem, s, [&](int b) { return prices.innermost_pj(s, b); },
        [&](int a, int b) { return prices.boundary_pj(s, a, b, most); });
  }
  return energy_pj * (1 - kEqual);
}

Loads least_chain_loads(Boundaries& boundaries, int s) {
  const LatticeProblem& problem = boundaries.problem();
  Loads least{};
  for (int r = 0; r < problem.resources; ++r)
    least[r] = least_chain(
        problem, s, [&](int b) { return boundaries.innermost_loads(s, b)[r]; },
        [&](int a, int b) {
          for (const Boundary::Load& load : boundaries.at(s, a, b).loads)
            if (load.resource == r) return load.cycles.back();
          return 0.0;
        });
  return least;
}

}  // namespace orrery::nest::lattice
