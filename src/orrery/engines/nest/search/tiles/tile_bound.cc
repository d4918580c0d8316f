// For each storage and each tile that fits it, one dimension d iterates next outside. A dataspace that d does not move
// is given its longest run; one whose windows slide along d, its longest slide; all others are brought whole each time.
// Words fall with the run and with the slide, so no mapping has fewer. Cost: tiles times dimensions for each storage
// with a capacity, a few nanoseconds each.
#include "orrery/engines/nest/search/tiles/tile_bound.h"

#include <algorithm>
#include <limits>

#include "orrery/engines/nest/search/tiles/tile_slides.h"

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

std::vector<char> list_fits(const Prices& prices, const Lattice& lattice, int k) {
  const Problem& problem = prices.problem();
  std::vector<char> fits(lattice.size(), 1);
  const std::optional<Count> capacity = problem.space->capacity(k);
  const Count least = problem.space->minimum_use(k);
  if (!capacity && least == 0) return fits;
  std::vector<Count> words(lattice.size(), 0);
  for (std::uint32_t rest = prices.config().keep[k]; rest != 0; rest &= rest - 1) {
    const int s = __builtin_ctz(rest);
    const Lattice::Part& shape = lattice.shape(s);
    std::vector<Count> of_place(shape.size);
    for (int place = 0; place < shape.size; ++place) {
      Factors extents = shape.extents(lattice, place);
      for (int d = 0; d < problem.dimensions(); ++d) extents[d] *= prices.spread(k, d);
      of_place[place] = problem.space->units(k, s) * problem.dataspaces[s].tile(extents);
    }
    for (int tile = 0; tile < lattice.size(); ++tile) words[tile] += of_place[shape.place[tile]];
  }
  for (int tile = 0; tile < lattice.size(); ++tile)
    fits[tile] = (!capacity || words[tile] <= *capacity) && words[tile] >= least;
  return fits;
}

namespace {

Count least_prime(Count n) {
  for (Count p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

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
    return words_crossing(prices, s, a, a + 1, inside, step, loops);
  }
  if (d < 0 || !(dataspace.window >> d & 1)) return words_crossing(prices, s, a, a + 1, inside, step, loops);
  // The slide's step: d's own, or a longer one where a fan-out lies between.
  step.first[s] = static_cast<std::int8_t>(d);
  const Count whole = prices.left(d) / inside[d];
  loops[d] = whole;
  const double least = words_crossing(prices, s, a, a + 1, inside, step, loops);
  loops[d] = least_prime(whole);
  return std::min(least, words_crossing(prices, s, a, a + 1, inside, step, loops,
                                        spared_by_all(prices, dataspace.axis_of(d), inside, loops)));
}

}  // namespace

Boundaries::Boundaries(const Prices& prices, const Lattice& lattice, const Pricing& pricing)
    : prices_(prices), lattice_(lattice) {
  const Problem& problem = prices.problem();
  const int dims = problem.dimensions();
  fixed_ = total_ = pricing(prices, prices.fixed_pj(), prices.fixed_loads());
  boundary_.resize(problem.levels);
  least_.assign(problem.levels, 0);
  for (int a = 0; a < problem.levels; ++a) {
    boundary_[a].resize(problem.spaces());
    std::vector<int> kept;
    for (int s = 0; s < problem.spaces(); ++s) {
      if (!(prices.config().keep[a] >> s & 1) || prices.parent(s, a) < 0) continue;
      kept.push_back(s);
      const Dataspace& dataspace = problem.dataspaces[s];
      const Lattice::Part& part = lattice.charged(s);
      Boundary& boundary = boundary_[a][s].emplace();
      boundary.once = pricing.crossing(prices, s, a, least_words(prices, s, a));
      least_[a] += boundary.once;
      boundary.cost.resize(static_cast<std::size_t>(part.size) * (dims + 1));
      for (int place = 0; place < part.size; ++place) {
        const Factors inside = part.extents(lattice, place);
        double* row = boundary.cost.data() + static_cast<std::size_t>(place) * (dims + 1) + 1;
        row[-1] = pricing.crossing(prices, s, a, least_words(prices, s, a, inside, -1));
        double blind = -1;  // the same for all dimensions that do not move s
        for (int d = 0; d < dims; ++d) {
          row[d] = row[-1];
          if (part.stride[d] > 0 && inside[d] == prices.left(d)) {
            row[d] = 0;
          } else if (dataspace.blind >> d & 1) {
            if (blind < 0) blind = pricing.crossing(prices, s, a, least_words(prices, s, a, inside, d));
            row[d] = blind;
          } else if (dataspace.window >> d & 1) {
            row[d] = pricing.crossing(prices, s, a, least_words(prices, s, a, inside, d));
          }
        }
      }
    }
    if (!kept.empty() && problem.space->capacity(a) && a + 1 < problem.levels)
      least_[a] = std::max(least_[a], cheapest_tile(a, kept));
    total_ += least_[a];
  }
}

double Boundaries::cheapest_tile(int a, const std::vector<int>& kept) const {
  const int dims = lattice_.dimensions();
  const std::vector<char> fits = list_fits(prices_, lattice_, a);
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> sum(static_cast<std::size_t>(dims) + 1);
  for (int tile = 0; tile < lattice_.size(); ++tile) {
    if (!fits[tile]) continue;
    std::fill(sum.begin(), sum.end(), 0);
    for (const int s : kept) {
      const double* row =
          boundary_[a][s]->cost.data() + static_cast<std::size_t>(lattice_.charged(s).place[tile]) * (dims + 1);
      for (int d = 0; d <= dims; ++d) sum[d] += row[d];
    }
    if (tile == lattice_.top()) least = std::min(least, sum[0]);
    for (int d = 0; d < dims; ++d)
      if (lattice_.coordinate(tile, d) + 1 < lattice_.divisors(d)) least = std::min(least, sum[d + 1]);
  }
  return least;
}

double Boundaries::closed(int k, const std::array<std::int8_t, kMaxDataspaces>& open) const {
  double least = fixed_;
  for (int a = 0; a < k; ++a) {
    double some = 0;
    bool all = true;
    for (int s = 0; s < prices_.problem().spaces(); ++s) {
      if (!boundary_[a][s]) continue;
      if (open[s] >= 0 && a >= open[s])
        all = false;
      else
        some += boundary_[a][s]->once;
    }
    least += all ? least_[a] : some;
  }
  return least;
}

std::vector<double> Boundaries::outside(int s, int from, int to) const {
  std::vector<double> sum(static_cast<std::size_t>(lattice_.charged(s).size) * (lattice_.dimensions() + 1), 0);
  for (int a = from; a < to; ++a)
    if (boundary_[a][s])
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += boundary_[a][s]->cost[k];
  return sum;
}

}  // namespace orrery::nest::tiles
