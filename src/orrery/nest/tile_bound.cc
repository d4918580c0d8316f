// For each storage and each tile that fits it, one dimension d iterates next outside. A dataspace that d does not move
// is given its longest run; one whose windows slide along d, its longest slide; all others are brought whole each time.
// Words fall with the run and with the slide, so no mapping has fewer. Cost: tiles times dimensions for each storage
// with a capacity, a few nanoseconds each.
#include "orrery/nest/tile_bound.h"

#include <algorithm>
#include <limits>

#include "orrery/base/factor.h"

namespace orrery::nest::tiles {

double least_words(const Prices& prices, int s, int a) {
  double words = 1;
  for (const Axis& axis : prices.problem().dataspaces[s].axes) {
    Count most = 1;
    for (const workload::Term& term : axis.terms)
      most = std::max(most, prices.left(term.dimension) * prices.spread(a, term.dimension));
    words *= static_cast<double>(most);
  }
  return words;
}

namespace {

// Least words of s that cross into storage a when its tile spans `inside` and dimension d iterates next; d = -1: none.
double least_words(const Prices& prices, int s, int a, const Factors& inside, int d) {
  const Problem& problem = prices.problem();
  const Dataspace& dataspace = problem.dataspaces[s];
  Step step;
  step.first.fill(-1);
  step.second.fill(-1);
  Factors loops;
  loops.fill(1);
  if (d >= 0 && (dataspace.blind >> d & 1)) {
    if (dataspace.window != 0) return least_words(prices, s, a);
    for (int other = 0; other < problem.dimensions(); ++other)
      if (dataspace.blind >> other & 1) {
        step.run[s] |= 1u << other;
        loops[other] = prices.left(other) / inside[other];
      }
    return words_crossing(prices, s, a, a + 1, inside, step, loops, false);
  }
  if (d < 0 || !(dataspace.window >> d & 1)) return words_crossing(prices, s, a, a + 1, inside, step, loops, false);
  // The slide's step: d's own, or a longer one where a fan-out lies between.
  step.first[s] = static_cast<std::int8_t>(d);
  const Count whole = prices.left(d) / inside[d];
  loops[d] = whole;
  double least = words_crossing(prices, s, a, a + 1, inside, step, loops, false);
  loops[d] = base::prime_factors(whole).front().first;
  return std::min(least, words_crossing(prices, s, a, a + 1, inside, step, loops, true));
}

}  // namespace

double least_energy_pj(const Prices& prices, const Lattice& lattice) {
  const Problem& problem = prices.problem();
  const int dims = problem.dimensions();
  double energy_pj = prices.fixed_pj();
  for (int a = 0; a < problem.levels; ++a) {
    std::vector<int> kept;
    for (int s = 0; s < problem.spaces(); ++s)
      if ((prices.config().keep[a] >> s & 1) && prices.parent(s, a) >= 0) kept.push_back(s);
    const std::optional<Count> capacity = problem.space->capacity(a);
    if (!capacity || kept.empty() || a + 1 == problem.levels) {
      for (const int s : kept) energy_pj += prices.crossing(s, a, least_words(prices, s, a), nullptr);
      continue;
    }
    // Prices by what they depend on.
    std::vector<std::vector<int>> stride;
    std::vector<std::vector<double>> cost;  // [place * (dimensions + 1) + d + 1]
    for (const int s : kept) {
      const std::uint32_t matters = problem.dataspaces[s].shaped | problem.dataspaces[s].blind;
      std::vector<int>& strides = stride.emplace_back(dims, 0);
      int size = 1;
      for (int d = 0; d < dims; ++d)
        if (matters >> d & 1) strides[d] = size, size *= lattice.divisors(d);
      std::vector<double>& costs = cost.emplace_back();
      for (int place = 0; place < size; ++place) {
        Factors inside;
        inside.fill(1);
        for (int d = 0; d < dims; ++d)
          if (strides[d] > 0) inside[d] = lattice.divisor(d, place / strides[d] % lattice.divisors(d));
        for (int d = -1; d < dims; ++d) {
          const bool iterates = d < 0 || inside[d] < prices.left(d);
          costs.push_back(iterates ? prices.crossing(s, a, least_words(prices, s, a, inside, d), nullptr) : 0);
        }
      }
    }
    double least = std::numeric_limits<double>::infinity();
    for (int tile = 0; tile < lattice.size(); ++tile) {
      Factors extents;
      for (int d = 0; d < dims; ++d) extents[d] = lattice.extent(tile, d) * prices.spread(a, d);
      Count words = 0;
      for (std::uint32_t rest = prices.config().keep[a]; rest != 0; rest &= rest - 1)
        words += problem.dataspaces[__builtin_ctz(rest)].tile(extents);
      if (words > *capacity) continue;
      std::array<std::size_t, kMaxDataspaces> row{};
      for (std::size_t n = 0; n < kept.size(); ++n) {
        int place = 0;
        for (int d = 0; d < dims; ++d) place += stride[n][d] * lattice.coordinate(tile, d);
        row[n] = static_cast<std::size_t>(place) * static_cast<std::size_t>(dims + 1);
      }
      for (int d = -1; d < dims; ++d) {
        if (d < 0 ? tile != lattice.top() : lattice.coordinate(tile, d) + 1 == lattice.divisors(d)) continue;
        double sum = 0;
        for (std::size_t n = 0; n < kept.size(); ++n) sum += cost[n][row[n] + static_cast<std::size_t>(d + 1)];
        least = std::min(least, sum);
      }
    }
    energy_pj += least;
  }
  return energy_pj;
}

}  // namespace orrery::nest::tiles
