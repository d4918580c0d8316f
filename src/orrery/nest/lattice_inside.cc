// The lattice table (lattice_table.h) turned inside out, with the keepers left open. Seen from outside, what the
// levels up to a cost depends on three things only: where each dataspace is kept next outside (o), the tile that is
// handed in (t), and the run that is under way. So with x the tile of level a,
//
//   Z_a(o, c, x, m)  the next level outside a that iterates has c innermost, up to the divisor m of its bound
//     = min over what level a keeps of  sum_{s kept, blind to d != c} p_s(x(d)) + p_{blind to c}(m)
//                                        + min(F_{a-1}(o', x), Z_{a-1}(o', c, x, m))
//   F_a(o, t)        level a + 1 iterates, and the tile is t after it
//     = min over c and x, a proper divisor of t in c, a divisor in the others, of  Z_a(o, c, x, t(c))
//
// infinite where x overfills a; o' is o with a for what it keeps. Level 0 closes with what the compute units read. The
// least of a layout over all keepers, tiles and orders is then known exactly without trying keepers one by one, and
// what a choice of the outer keepers costs at least, too: the table outside plus F inside, tile by tile.
// That a run may be taken to end at the next level that iterates is the shift lemma of lattice_table.h.
//
// Cost: for each of (levels - a)^3 states of o, for each of eight subsets kept, two additions and two minima for each
// point and multiple along one dimension. On the small lattices of chips with many levels that is a few milliseconds,
// in the place of thousands of choices of keepers.
#include "orrery/nest/lattice_inside.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "orrery/nest/objective.h"

namespace orrery::nest::lattice {

namespace {

constexpr std::uint32_t kSubsets = 1u << kSpaces;
constexpr float kNone = std::numeric_limits<float>::infinity();
// Of a figure, at most: three additions a level, each to 2^-24, and its conversion.
constexpr double kRounding = 80.0 / (1 << 24);
static_assert(4 * kMostLevels + 2 <= 80);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ORRERY_FOR_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define ORRERY_FOR_WIDE_VECTORS
#endif

ORRERY_FOR_WIDE_VECTORS
void take_least(float* to, const float* own, float run, const float* fresh, const float* pending, std::size_t count) {
  for (std::size_t o = 0; o < count; ++o) {
    const float further = fresh[o] < pending[o] ? fresh[o] : pending[o];
    const float cost = own[o] + run + further;
    to[o] = cost < to[o] ? cost : to[o];
  }
}

ORRERY_FOR_WIDE_VECTORS
void take_least(float* to, const float* own, float run, std::size_t count) {
  for (std::size_t o = 0; o < count; ++o) {
    const float cost = own[o] + run;
    to[o] = cost < to[o] ? cost : to[o];
  }
}

int first_of_others(int d) {
  return d == 0 ? 1 : 0;
}
int second_of_others(int d) {
  return d == 2 ? 1 : 2;
}

double states_of(const LatticeProblem& problem) {
  const int levels = static_cast<int>(problem.levels.size());
  double states = 0;
  for (int a = 0; a < levels; ++a) {
    double here = 1;
    for (int s = 0; s < kSpaces; ++s) {
      int outer = 1;  // nowhere
      for (int b = levels - 1; b > a; --b) {
        if (problem.levels[b].must_keep >> s & 1) outer = 0;
        outer += problem.levels[b].may_keep >> s & 1;
      }
      here *= std::max(outer, 1);
    }
    states += here;
  }
  return states;
}

double entries_of(const Boundaries& boundaries) {
  double entries = 0;
  for (int c = 0; c < kDims; ++c) {
    double pairs = 1;
    for (const std::vector<int>& multiples : boundaries.axis(c).multiples)
      pairs += static_cast<double>(multiples.size());
    for (int d = 0; d < kDims; ++d)
      if (d != c) pairs *= static_cast<double>(boundaries.axis(d).value.size());
    entries += pairs;
  }
  return entries;
}

}  // namespace

Inside::Inside(Boundaries& boundaries, const Criterion& criterion, double ceiling, const Triple<Loads>& most,
               const Choices& choices, const cost::Budget& budget)
    : boundaries_(boundaries),
      problem_(boundaries.problem()),
      criterion_(criterion),
      ceiling_(ceiling),
      unit_(ceiling * (1 - kRounding)),
      most_(most),
      choices_(choices),
      budget_(budget),
      levels_(static_cast<int>(boundaries.problem().levels.size())) {
  for (int d = 0; d < kDims; ++d) size_[d] = static_cast<int>(boundaries.axis(d).value.size());
  stride_ = {size_[1] * size_[2], size_[2], 1};
  const std::vector<Triple<int>>& points = boundaries.points();
  for (int d = 0; d < kDims; ++d) {
    for (int x = 0; x < size_[d]; ++x)
      for (const int m : boundaries.axis(d).multiples[x]) pairs_[d].push_back({x, m});
    pairs_[d].push_back({size_[d] - 1, size_[d] - 1});
    last_pair_[d].resize(size_[d]);
    for (std::size_t k = 0; k < pairs_[d].size(); ++k)
      if (pairs_[d][k].reached == size_[d] - 1) last_pair_[d][pairs_[d][k].from] = static_cast<int>(k);
    const int p = first_of_others(d), q = second_of_others(d);
    for (const Triple<int>& at : points) place_[d].push_back((at[d] * size_[p] + at[p]) * size_[q] + at[q]);
  }
  barrier_.resize(static_cast<std::size_t>(levels_) * kSubsets);
  const std::size_t side = levels_ + 1;
  states_.resize(levels_ * side * side * side);
}

double Inside::most_steps(const Boundaries& boundaries) {
  return states_of(boundaries.problem()) * kSubsets * entries_of(boundaries);
}

double Inside::most_bytes(const Boundaries& boundaries) {
  double points = 1;
  for (int d = 0; d < kDims; ++d) points *= static_cast<double>(boundaries.axis(d).value.size());
  const double each = entries_of(boundaries) + 4 * points;
  const double barriers = static_cast<double>(boundaries.problem().levels.size()) * kSubsets * kDims * points * 2;
  return sizeof(float) * (states_of(boundaries.problem()) * each + barriers);
}

std::vector<double> Inside::price(int s, int a, int outer) const {
  if (outer == 0) return std::vector<double>(size_[problem_.blind[s]], 0);
  const Boundary& boundary = boundaries_.at(s, a, outer - 1);
  std::vector<double> price = criterion_.price(boundary);
  for (const Boundary::Load& load : boundary.loads)
    for (std::size_t x = 0; x < price.size(); ++x)
      if (load.cycles[x] > most_[s][load.resource]) price[x] = kNever;
  return price;
}

// Least energies of the levels outside each state, outermost first; `below` has those of the levels inside.
Inside::Choices Inside::choices_below(CapacityBound& capacity, int levels, double most_pj) {
  const std::size_t states = state_of(levels, levels, {0, 0, 0});
  std::vector<double> outside(states, kNever);
  Choices choices(states, 0);
  outside[state_of(levels, levels - 1, {0, 0, 0})] = 0;
  for (int a = levels - 1; a >= 0; --a)
    for (int x = 0; x <= levels; ++x)
      for (int y = 0; y <= levels; ++y)
        for (int z = 0; z <= levels; ++z) {
          const Outer outer{x, y, z};
          const std::size_t here = state_of(levels, a, outer);
          if (outside[here] == kNever) continue;
          for (std::uint32_t kept = 0; kept < kSubsets; ++kept) {
            if (!capacity.allowed(a, kept)) continue;
            const double sum = outside[here] + capacity.term(a, kept, outer).cost[kEnergy];
            const Outer inner = CapacityBound::within(a, kept, outer);
            if (!(sum + capacity.below(a - 1, inner)[kEnergy] <= most_pj) || sum == kNever) continue;
            choices[here] |= 1u << kept;
            if (a == 0) continue;
            double& least = outside[state_of(levels, a - 1, inner)];
            least = std::min(least, sum);
          }
        }
  return choices;
}

const Inside::State& Inside::state(int a, const Outer& outer) {
  std::unique_ptr<State>& state = states_[state_of(levels_, a, outer)];
  if (!state) {
    state = std::make_unique<State>();
    settle(a, outer, *state);
  }
  return *state;
}

void Inside::settle(int a, const Outer& outer, State& into) {
  std::vector<Kept> choices;
  for (std::uint32_t kept = 0; kept < kSubsets; ++kept) {
    if (!(choices_[state_of(levels_, a, outer)] >> kept & 1)) continue;
    Kept one;
    const bool possible = prepare(a, kept, outer, one);
    cut_short_ = cut_short_ || budget_.spent();
    if (cut_short_) return;
    if (possible) choices.push_back(std::move(one));
  }
  for (int c = 0; c < kDims; ++c) {
    const std::size_t beside = others(c);
    into.pending[c].assign(pairs_[c].size() * beside, kNone);
    for (std::size_t k = 0; k < pairs_[c].size(); ++k) {
      float* const to = into.pending[c].data() + k * beside;
      for (const Kept& kept : choices) {
        const float run = static_cast<float>(kept.prices[c][pairs_[c][k].reached] / ceiling_);
        if (run == kNone) continue;
        const std::size_t tile = pairs_[c][k].from * beside;
        if (a == 0)
          take_least(to, kept.closed[c].data() + tile, run, beside);
        else
          take_least(to, kept.closed[c].data() + tile, run, kept.inside->fresh[c].data() + tile,
                     kept.inside->pending[c].data() + k * beside, beside);
      }
    }
  }
  close(a, into);
}

// False where nothing fits.
bool Inside::prepare(int a, std::uint32_t kept, const Outer& outer, Kept& into) {
  const Outer inner = CapacityBound::within(a, kept, outer);
  const std::vector<int>& tiles = a == 0 ? boundaries_.starts(kept) : boundaries_.fits(a, kept).list;
  if (tiles.empty()) return false;
  double innermost = 0;
  if (a > 0) {
    into.inside = &state(a - 1, inner);
    if (cut_short_) return false;
  } else {
    for (int s = 0; s < kSpaces; ++s) {
      if (inner[s] == 0) return false;
      innermost +=
          criterion_.price(boundaries_.innermost_pj(s, inner[s] - 1), boundaries_.innermost_loads(s, inner[s] - 1));
    }
  }
  Triple<std::vector<double>>& barrier = barrier_[static_cast<std::size_t>(a) * kSubsets + kept];
  if (barrier[0].empty())
    for (int c = 0; c < kDims; ++c) {
      barrier[c].assign(place_[c].size(), kNever);
      for (const int point : tiles) barrier[c][place_[c][point]] = 0;
    }
  for (int d = 0; d < kDims; ++d) {
    const int s = problem_.dataspace[d];
    into.prices[d] = price(s, a, kept >> s & 1 ? outer[s] : 0);
  }
  for (int c = 0; c < kDims; ++c) {
    const int p = first_of_others(c), q = second_of_others(c);
    into.closed[c].resize(barrier[c].size());
    std::size_t at = 0;
    for (int x = 0; x < size_[c]; ++x)
      for (int y = 0; y < size_[p]; ++y)
        for (int z = 0; z < size_[q]; ++z, ++at)
          into.closed[c][at] =
              static_cast<float>((barrier[c][at] + (into.prices[p][y] + into.prices[q][z]) + innermost) / ceiling_);
  }
  return true;
}

// F from Z, and both together.
void Inside::close(int a, State& state) {
  const std::size_t points = place_[0].size();
  for (int d = 0; d < kDims; ++d) state.fresh[d].assign(points, kNone);
  state.within.assign(points, kNone);
  if (a + 1 < levels_) {
    const Triple<bool>& free = problem_.levels[a + 1].free;
    for (int c = 0; c < kDims; ++c) {
      if (!free[c]) continue;
      const int p = first_of_others(c), q = second_of_others(c);
      const std::size_t others = static_cast<std::size_t>(size_[p]) * size_[q];
      std::vector<float>& least = room_;
      least.assign(points, kNone);  // in the order of c, by t
      for (std::size_t k = 0; k < pairs_[c].size(); ++k) {
        if (pairs_[c][k].from == pairs_[c][k].reached) continue;
        float* const to = least.data() + pairs_[c][k].reached * others;
        const float* const from = state.pending[c].data() + k * others;
        for (std::size_t o = 0; o < others; ++o) to[o] = from[o] < to[o] ? from[o] : to[o];
      }
      // Smaller divisors first: each hands what it has on to its prime multiples.
      for (int t = 0; t < size_[c]; ++t) {
        float* const here = least.data() + t * others;
        if (free[p])
          for (int y = 0; y < size_[p]; ++y)
            for (const int m : boundaries_.axis(p).prime_multiples[y])
              for (int z = 0; z < size_[q]; ++z)
                here[m * size_[q] + z] = std::min(here[m * size_[q] + z], here[y * size_[q] + z]);
        if (free[q])
          for (int z = 0; z < size_[q]; ++z)
            for (const int m : boundaries_.axis(q).prime_multiples[z])
              for (int y = 0; y < size_[p]; ++y)
                here[y * size_[q] + m] = std::min(here[y * size_[q] + m], here[y * size_[q] + z]);
      }
      for (std::size_t point = 0; point < points; ++point)
        state.within[point] = std::min(state.within[point], least[place_[c][point]]);
    }
    for (int d = 0; d < kDims; ++d)
      for (std::size_t point = 0; point < points; ++point) state.fresh[d][place_[d][point]] = state.within[point];
  }
  for (int c = 0; c < kDims; ++c) {
    const std::size_t others = points / size_[c];
    for (std::size_t point = 0; point < points; ++point) {
      const std::size_t at = place_[c][point];
      const float ended = state.pending[c][last_pair_[c][at / others] * others + at % others];
      state.within[point] = std::min(state.within[point], ended);
    }
  }
}

double Inside::least() {
  const std::vector<float>& all = within(levels_ - 1, {0, 0, 0});
  return cut_short_ ? 0 : worth(all.back());
}

// Follows one of the least from the outermost level inwards.
Inside::Found Inside::cheapest() const {
  Found found;
  Loads& loads = found.loads;
  Outer outer{0, 0, 0};
  int c = 0;
  std::size_t pair = pairs_[0].size() - 1;
  Triple<int> x;
  for (int d = 0; d < kDims; ++d) x[d] = size_[d] - 1;
  for (int a = levels_ - 1;; --a) {
    double least = kNever;
    std::uint32_t chosen = 0;
    bool iterates = false;
    const int point = x[0] * stride_[0] + x[1] * stride_[1] + x[2];
    const auto reuse = [&](int s) { return problem_.blind[s] == c ? pairs_[c][pair].reached : x[problem_.blind[s]]; };
    for (std::uint32_t kept = 0; kept < kSubsets; ++kept) {
      if (!(choices_[state_of(levels_, a, outer)] >> kept & 1)) continue;
      const std::vector<double>& barrier = barrier_[static_cast<std::size_t>(a) * kSubsets + kept][0];
      if (barrier.empty() || barrier[point] > 0) continue;
      const Outer inner = CapacityBound::within(a, kept, outer);
      double cost = 0;
      for (int s = 0; s < kSpaces; ++s)
        if (kept >> s & 1) cost += price(s, a, outer[s])[reuse(s)];
      const State* inside = a > 0 ? find(a - 1, inner) : nullptr;
      if (a > 0 && inside == nullptr) continue;
      double fresh = kNever, pending = 0;
      if (inside) {
        fresh = worth(inside->fresh[0][point]);
        pending = worth(inside->pending[c][pair * others(c) + place_[c][point] % others(c)]);
      } else {
        for (int s = 0; s < kSpaces; ++s)
          pending += inner[s] == 0 ? kNever
                                   : criterion_.price(boundaries_.innermost_pj(s, inner[s] - 1),
                                                      boundaries_.innermost_loads(s, inner[s] - 1));
      }
      cost += std::min(fresh, pending);
      if (cost < least) least = cost, chosen = kept, iterates = fresh < pending;
    }
    if (least == kNever) return {};
    for (int s = 0; s < kSpaces; ++s)
      if ((chosen >> s & 1) && outer[s] > 0) boundaries_.add(s, a, outer[s] - 1, reuse(s), loads);
    for (int s = 0; s < kSpaces; ++s) found.keepers[s] |= (chosen >> s & 1) << a;
    outer = CapacityBound::within(a, chosen, outer);
    if (a == 0) {
      found.path.push_back({0, -1, point});
      break;
    }
    if (!iterates) continue;
    std::tie(c, pair, x) = first_step(*find(a - 1, outer), a, x);
    found.path.push_back({a, c, point});
  }
  for (int s = 0; s < kSpaces; ++s)
    for (int r = 0; r < problem_.resources; ++r) loads[r] += boundaries_.innermost_loads(s, outer[s] - 1)[r];
  std::reverse(found.path.begin(), found.path.end());
  return found;
}

// The innermost loop of level a, and the tile inside its loops, from which F of the tile t comes.
std::tuple<int, std::size_t, Triple<int>> Inside::first_step(const State& inside, int a, const Triple<int>& t) const {
  std::tuple<int, std::size_t, Triple<int>> best{};
  float least = kNone;
  const Triple<bool>& free = problem_.levels[a].free;
  const auto reaches = [&](int d, int from) {
    const std::vector<int>& multiples = boundaries_.axis(d).multiples[from];
    return from == t[d] || (free[d] && std::binary_search(multiples.begin(), multiples.end(), t[d]));
  };
  for (int c = 0; c < kDims; ++c) {
    if (!free[c]) continue;
    const int p = first_of_others(c), q = second_of_others(c);
    for (std::size_t k = 0; k < pairs_[c].size(); ++k) {
      if (pairs_[c][k].reached != t[c] || pairs_[c][k].from == t[c]) continue;
      for (int y = 0; y <= t[p]; ++y)
        for (int z = 0; z <= t[q]; ++z) {
          const float cost = inside.pending[c][k * others(c) + static_cast<std::size_t>(y) * size_[q] + z];
          if (!(cost < least) || !reaches(p, y) || !reaches(q, z)) continue;
          least = cost;
          Triple<int> x;
          x[c] = pairs_[c][k].from, x[p] = y, x[q] = z;
          best = {c, k, x};
        }
    }
  }
  return best;
}

}  // namespace orrery::nest::lattice
