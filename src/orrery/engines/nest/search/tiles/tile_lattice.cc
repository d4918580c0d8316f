// A tile is a mixed-radix number, one digit for each dimension: which of the divisors of what is left. A level's loops
// raise digits to multiples. What the named loops of a step do is a sum over these loops, listed for each loop by
// itself.
#include "orrery/engines/nest/search/tiles/tile_lattice.h"

#include <algorithm>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/tiles/tile_slides.h"

namespace orrery::nest::tiles {

double tiles_of(const Prices& prices) {
  double tiles = 1;
  for (int d = 0; d < prices.problem().dimensions(); ++d)
    tiles *= static_cast<double>(base::divisors(prices.left(d)).size());
  return tiles;
}

Lattice::Lattice(const Problem& problem, const Factors& left) {
  for (int d = 0; d < problem.dimensions(); ++d) {
    divisors_.push_back(base::divisors(left[d]));
    stride_.push_back(size_);
    size_ *= static_cast<int>(divisors_.back().size());
  }
  coordinate_.resize(static_cast<std::size_t>(size_) * divisors_.size());
  for (int tile = 0; tile < size_; ++tile)
    for (int d = 0; d < dimensions(); ++d)
      coordinate_[static_cast<std::size_t>(tile) * divisors_.size() + d] =
          static_cast<std::uint16_t>(tile / stride_[d] % divisors(d));
  for (const Dataspace& dataspace : problem.dataspaces) {
    shape_.push_back(part(dataspace.relevant));
    charged_.push_back(part(dataspace.shaped | dataspace.blind));
  }
}

Lattice::Part Lattice::part(std::uint32_t matters) const {
  Part part;
  part.stride.assign(divisors_.size(), 0);
  for (int d = 0; d < dimensions(); ++d)
    if (matters >> d & 1) part.stride[d] = part.size, part.size *= divisors(d);
  part.place.assign(size_, 0);
  for (int tile = 0; tile < size_; ++tile)
    for (int d = 0; d < dimensions(); ++d) part.place[tile] += part.stride[d] * coordinate(tile, d);
  return part;
}

Factors Lattice::Part::extents(const Lattice& lattice, int at) const {
  Factors extents;
  extents.fill(1);
  for (int d = 0; d < lattice.dimensions(); ++d)
    if (stride[d] > 0) extents[d] = lattice.divisor(d, at / stride[d] % lattice.divisors(d));
  return extents;
}

Paths::Paths(const Problem& problem, const std::vector<std::vector<Step>>& steps, const Factors& left,
             const Lattice& lattice)
    : problem_(problem), lattice_(lattice) {
  list_reach();
  list_prime_steps();
  list_ways(steps, left);
}

void Paths::list_reach() {
  const int levels = problem_.levels, dims = problem_.dimensions();
  reach_.resize(levels);
  reached_.resize(levels);
  std::vector<char> before(lattice_.size(), 0);
  before[0] = 1;
  for (int k = 0; k < levels; ++k) {
    reach_[k].resize(dims);
    for (int d = 0; d < dims; ++d) {
      const std::vector<Count>& allowed = problem_.space->temporal(k, problem_.dimension[d]);
      reach_[k][d].resize(lattice_.divisors(d));
      for (int u = 0; u < lattice_.divisors(d); ++u)
        for (int v = u; v < lattice_.divisors(d); ++v) {
          const Count from = lattice_.divisor(d, u), to = lattice_.divisor(d, v);
          if (to % from == 0 && std::binary_search(allowed.begin(), allowed.end(), to / from) &&
              (k + 1 < levels || v + 1 == lattice_.divisors(d)))
            reach_[k][d][u].push_back(v);
        }
    }
    for (int d = 0; d < dims; ++d) {
      std::vector<char> next(lattice_.size(), 0);
      for (int tile = 0; tile < lattice_.size(); ++tile) {
        if (!before[tile]) continue;
        const int u = lattice_.coordinate(tile, d);
        for (const int v : reach_[k][d][u]) next[tile + (v - u) * lattice_.stride(d)] = 1;
      }
      before = std::move(next);
    }
    reached_[k] = before;
  }
}

void Paths::list_prime_steps() {
  const int levels = problem_.levels, dims = problem_.dimensions();
  for (int d = 0; d < dims; ++d) {
    std::vector<std::pair<int, int>>& steps = prime_steps_.emplace_back();
    const int n = lattice_.divisors(d);
    const Count all = lattice_.divisor(d, n - 1);
    if (all == 1) continue;
    for (const auto& [prime, exponent] : base::prime_factors(all))
      for (int u = n - 1; u >= 0; --u)
        for (int v = u + 1; v < n; ++v)
          if (lattice_.divisor(d, v) == lattice_.divisor(d, u) * prime) steps.emplace_back(u, v);
  }
  free_to_iterate_.assign(levels, std::vector<char>(dims, 1));
  for (int k = 0; k < levels; ++k)
    for (int d = 0; d < dims; ++d)
      for (int u = 0; u < lattice_.divisors(d); ++u) {
        std::size_t multiples = 0;
        for (int v = u; v < lattice_.divisors(d); ++v)
          multiples += lattice_.divisor(d, v) % lattice_.divisor(d, u) == 0;
        // Outermost, all that is left must be taken; then nothing else has a finite cost.
        if (k + 1 < levels && reach_[k][d][u].size() != multiples) free_to_iterate_[k][d] = 0;
      }
  for (int d = 0; d < dims; ++d)
    for (const Count divisor : base::divisors(lattice_.divisor(d, lattice_.divisors(d) - 1))) {
      const std::vector<Count>& allowed = problem_.space->temporal(levels - 1, problem_.dimension[d]);
      if (!std::binary_search(allowed.begin(), allowed.end(), divisor)) free_to_iterate_[levels - 1][d] = 0;
    }
}

void Paths::list_ways(const std::vector<std::vector<Step>>& steps, const Factors& left) {
  ways_.resize(problem_.levels);
  const std::uint32_t all = (1u << problem_.dimensions()) - 1;
  for (int k = 1; k < problem_.levels; ++k) {
    static const Step kIdle = [] {
      Step step;
      step.first.fill(-1);
      step.second.fill(-1);
      step.open = ~0u;
      step.unit = ~0u;
      return step;
    }();
    std::vector<std::pair<const Step*, std::uint32_t>> listed{{&kIdle, 0}};
    for (const Step& step : steps[k]) {
      std::uint32_t may = 0;
      for (int s = 0; s < problem_.spaces(); ++s)
        if (may_continue(problem_, left, s, step, k)) may |= 1u << s;
      for (std::uint32_t some = may;; some = (some - 1) & may) {
        listed.emplace_back(&step, some);
        if (some == 0) break;
      }
    }
    for (const auto& [step, continuing] : listed) {
      Way way;
      way.step = step;
      way.continuing = continuing;
      way.rest = all & ~step->unit & ~step->named;
      for (int s = 0; s < problem_.spaces(); ++s)
        if (continuing >> s & 1) way.rest &= ~problem_.dataspaces[s].relevant;
      for (int d = 0; d < problem_.dimensions(); ++d)
        if (step->named >> d & 1) way.named.push_back(d);
      for (int d = 0; d < problem_.dimensions(); ++d) {
        if ((way.rest | step->named) >> d & 1) continue;
        bool always = true;
        for (int u = 0; u < lattice_.divisors(d); ++u)
          always = always && !reach_[k][d][u].empty() && reach_[k][d][u][0] == u;
        if (!always) way.still.push_back(d);
      }
      // The loop with most factors last: sums over the others are made once for all of its factors.
      std::stable_sort(way.named.begin(), way.named.end(),
                       [&](int a, int b) { return lattice_.divisors(a) < lattice_.divisors(b); });
      list_moves(k, way);
      ways_[k].push_back(std::move(way));
    }
  }
}

void Paths::list_moves(int level, Way& way) const {
  const Step& step = *way.step;
  for (const int d : way.named) {
    // Another loop that moves it ends a slide for good.
    bool ends = false;
    for (std::uint32_t rest = way.continuing; rest != 0; rest &= rest - 1) {
      const int s = __builtin_ctz(rest);
      ends = ends || ((problem_.dataspaces[s].relevant >> d & 1) && d != step.first[s] && d != step.second[s]);
    }
    std::vector<std::vector<Move>>& moves = way.moves.emplace_back(lattice_.divisors(d));
    for (int from = 0; from < lattice_.divisors(d); ++from)
      for (const int to : reach_[level][d][from]) {
        if (ends && to != from) continue;
        Move move;
        move.tile = (to - from) * lattice_.stride(d);
        for (int s = 0; s < problem_.spaces(); ++s) {
          if (step.open >> s & 1) continue;
          int width = 1;
          for (const int loop : {int{step.second[s]}, int{step.first[s]}})
            if (loop >= 0) {
              if (loop == d) move.entry[s] += width * to;
              width *= lattice_.divisors(loop);
            }
          if (step.run[s] >> d & 1) move.entry[s] += width * (to - from) * lattice_.charged(s).stride[d];
        }
        moves[from].push_back(move);
      }
  }
}

bool Paths::may_stay(int level, const Way& way, int tile) const {
  for (const int d : way.still) {
    const int u = lattice_.coordinate(tile, d);
    const std::vector<int>& to = reach_[level][d][u];
    if (to.empty() || to[0] != u) return false;
  }
  return true;
}

}  // namespace orrery::nest::tiles
