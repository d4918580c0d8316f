// The lattice table (lattice_table.h) turned inside out, with what is kept left open. Seen from outside, what the
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
// least of a layout over all choices of what to keep, tiles and orders is then known exactly without trying them one by
// one, and what a choice for the outer levels costs at least, too: the table outside plus F inside, tile by tile. That
// a run may be taken to end at the next level that iterates is the shift lemma of lattice_table.h.
//
// The eight subsets that a level may keep are not tried for each o. A dataspace that is kept is next kept at a for
// the levels inside, wherever it was outside: that place decides its price only. So with the dataspaces decided one
// after the other, the least over those that follow is shared by all places of those before that are kept:
//   Z(o) = min(nothing kept, p_2(o_2) + {2}, p_1(o_1) + {1 ..}(o_2), p_0(o_0) + {0 ..}(o_1, o_2))
//
// Cost: for each of (levels - a)^3 states of o, one pass over the points and multiples along each dimension, and three
// over those of tiles that fit; in the nearest cache some tenths of a nanosecond a figure. On the small lattices of
// chips with many levels that is a millisecond, in the place of thousands of choices of what to keep.
#include "orrery/engines/nest/search/lattice/lattice_inside.h"

#include <algorithm>
#include <limits>

#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

namespace {

constexpr std::uint32_t kLatticeInsideSubsets = 1u << kSpaces;
constexpr std::uint32_t kPartials = 3;  // {0}, {1} and {0, 1}, kept ones among the first dataspaces
constexpr float kNone = std::numeric_limits<float>::infinity();
// Of a figure, at most: four additions a level, each to 2^-24, and its conversion.
constexpr double kRounding = 80.0 / (1 << 24);
static_assert(4 * kMostLevels + 2 <= 80);
// Figures that are swept over between looks at the clock.
constexpr std::size_t kFiguresOfALook = 100'000;

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
               const Choices& choices, const base::Budget& budget, Blocks& blocks)
    : boundaries_(boundaries),
      problem_(boundaries.problem()),
      criterion_(criterion),
      ceiling_(ceiling),
      unit_(ceiling * (1 - kRounding)),
      most_(most),
      choices_(choices),
      budget_(budget),
      levels_(static_cast<int>(boundaries.problem().levels.size())),
      room_(blocks) {
  for (int d = 0; d < kDims; ++d) {
    size_[d] = static_cast<int>(boundaries.axis(d).value.size());
    points_ *= size_[d];
    for (int x = 0; x < size_[d]; ++x)
      for (const int m : boundaries.axis(d).multiples[x]) pairs_[d].push_back({x, m});
    pairs_[d].push_back({size_[d] - 1, size_[d] - 1});
    last_pair_[d].resize(size_[d]);
    for (std::size_t k = 0; k < pairs_[d].size(); ++k)
      if (pairs_[d][k].reached == size_[d] - 1) last_pair_[d][pairs_[d][k].from] = k;
  }
  stride_ = {size_[1] * size_[2], size_[2], 1};
  tiles_.resize(static_cast<std::size_t>(levels_) * kLatticeInsideSubsets);
  listed_.assign(tiles_.size(), 0);
  const std::size_t side = levels_ + 1;
  prices_.resize(levels_ * kSpaces * side);
  const std::size_t states = state_of(levels_, levels_, {0, 0, 0});
  states_.resize(states);
  partials_.resize(kPartials * states);
  wanted_.assign(kPartials * states, 0);
  for (int a = 0; a < levels_; ++a)
    for (int x = 0; x <= levels_; ++x)
      for (int y = 0; y <= levels_; ++y)
        for (int z = 0; z <= levels_; ++z) {
          const std::uint8_t here = choices_[state_of(levels_, a, {x, y, z})];
          wanted_[0 * states + state_of(levels_, a, {0, y, z})] |= here;
          wanted_[1 * states + state_of(levels_, a, {x, 0, z})] |= here;
          wanted_[2 * states + state_of(levels_, a, {0, 0, z})] |= here;
        }
}

double Inside::most_steps(const Boundaries& boundaries) {
  return states_of(boundaries.problem()) * entries_of(boundaries);
}

double Inside::most_bytes(const Boundaries& boundaries) {
  double points = 1;
  for (int d = 0; d < kDims; ++d) points *= static_cast<double>(boundaries.axis(d).value.size());
  const double levels = static_cast<double>(boundaries.problem().levels.size());
  const double barriers = levels * kLatticeInsideSubsets * kDims * points;
  // Each state, and the partial ones: at most twice as many as there are of those with two dataspaces left.
  const double each = entries_of(boundaries) + 2 * points;
  return sizeof(float) * (states_of(boundaries.problem()) * 2 * each + barriers + Blocks::kFigures);
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
          for (std::uint32_t kept = 0; kept < kLatticeInsideSubsets; ++kept) {
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

Inside::State& Inside::state(int a, const Outer& outer) {
  std::unique_ptr<State>& state = states_[state_of(levels_, a, outer)];
  if (!state) {
    state = std::make_unique<State>();
    settle(a, outer, *state);
  }
  return *state;
}

void Inside::settle(int a, const Outer& outer, State& into) {
  std::vector<Leg> legs;
  legs_of(a, 0, 0, outer, choices_[state_of(levels_, a, outer)], legs);
  if (out_of_time() || legs.empty()) return;
  fill(a, outer, legs, nullptr, into.folded);
  into.any = !cut_short_;
  if (into.any && a + 1 < levels_) close(a, into);
}

const Inside::Partial& Inside::partial(int a, std::uint32_t kept, const Outer& outer) {
  Outer free = outer;
  for (int s = 0; s < kSpaces; ++s)
    if (kept >> s & 1) free[s] = 0;
  const std::size_t slot = (kept - 1) * states_.size() + state_of(levels_, a, free);
  std::unique_ptr<Partial>& partial = partials_[slot];
  if (partial) return *partial;
  partial = std::make_unique<Partial>();
  std::vector<Leg> legs;
  legs_of(a, kept == 1 ? 1 : 2, kept, free, wanted_[slot], legs);
  if (out_of_time() || legs.empty()) return *partial;
  fill(a, free, legs, &tiles(a, kept), partial->least);
  partial->any = !cut_short_;
  return *partial;
}

// What level a may keep: `kept` of the dataspaces before `next`, of the others any that make up one of `wanted`.
void Inside::legs_of(int a, int next, std::uint32_t kept, const Outer& outer, std::uint32_t wanted,
                     std::vector<Leg>& legs) {
  if (wanted >> kept & 1) add_leg(a, -1, kept, outer, legs);
  for (int s = next; s < kSpaces; ++s) {
    const std::uint32_t first = kept | 1u << s;
    bool any = false;
    for (std::uint32_t subset = first; subset < kLatticeInsideSubsets; ++subset)
      any = any || ((wanted >> subset & 1) && (subset & ((2u << s) - 1)) == first);
    if (!any || !tiles(a, first).any) continue;
    if (s + 1 == kSpaces) {
      add_leg(a, s, first, outer, legs);
      continue;
    }
    const Partial& inside = partial(a, first, outer);
    if (inside.any) legs.push_back({s, &inside.least, &tiles(a, first), true, 0});
  }
}

void Inside::add_leg(int a, int s, std::uint32_t kept, const Outer& outer, std::vector<Leg>& legs) {
  const Outer inner = CapacityBound::within(a, kept, outer);
  const Tiles& fitting = tiles(a, kept);
  if (!fitting.any || cut_short_) return;
  Leg leg{s, nullptr, fitting.all ? nullptr : &fitting, false, 0};
  if (a == 0) {
    leg.rest = static_cast<float>(innermost(inner) / ceiling_);
    if (leg.rest == kNone) return;
  } else {
    const State& inside = state(a - 1, inner);
    if (!inside.any) return;
    leg.inside = &inside.folded;
  }
  legs.push_back(leg);
}

// Of what the compute units read.
double Inside::innermost(const Outer& inner) const {
  double cost = 0;
  for (int s = 0; s < kSpaces; ++s) {
    if (inner[s] == 0) return kNever;
    cost += criterion_.price(boundaries_.innermost_pj(s, inner[s] - 1), boundaries_.innermost_loads(s, inner[s] - 1));
  }
  return cost;
}

// The least over legs, one at least, for the tiles given (null: all).
void Inside::fill(int a, const Outer& outer, const std::vector<Leg>& legs, const Tiles* tiles, Triple<Figures>& into) {
  std::vector<Way> ways(legs.size());
  for (int c = 0; c < kDims; ++c) {
    for (std::size_t k = 0; k < legs.size(); ++k) {
      const Leg& leg = legs[k];
      Way& way = ways[k] = {};
      way.rest = leg.rest;
      if (leg.inside) way.base = (*leg.inside)[c];
      if (leg.tiles) {
        way.extent = leg.tiles->extent[c].data();
        if (!leg.barred && !leg.tiles->all) way.tile = leg.tiles->barrier[c].data();
      }
      if (leg.s < 0 || outer[leg.s] == 0) continue;
      const Price& own = price(leg.s, a, outer[leg.s]);
      if (problem_.blind[leg.s] == c)
        way.run = own.by_reuse.data();
      else
        way.own = own.own[c].data();
    }
    const std::vector<Pair>& pairs = pairs_[c];
    into[c] = room_.take(pairs.size() * others(c));
    const std::size_t rows = std::max<std::size_t>(kFiguresOfALook / others(c), 1);
    for (std::size_t first = 0; first < pairs.size(); first += rows) {
      if (first > 0 && out_of_time()) return;
      const std::size_t count = std::min(rows, pairs.size() - first);
      least_of_ways(ways, {pairs.data() + first, count}, first, others(c), tiles ? tiles->extent[c].data() : nullptr,
                    into[c]);
    }
  }
}

bool Inside::out_of_time() {
  return cut_short_ = cut_short_ || budget_.spent();
}

const Inside::Tiles& Inside::tiles(int a, std::uint32_t kept) {
  const std::size_t place = static_cast<std::size_t>(a) * kLatticeInsideSubsets + kept;
  Tiles& tiles = tiles_[place];
  if (listed_[place]) return tiles;
  listed_[place] = 1;
  const std::vector<int>& list = a == 0 ? boundaries_.starts(kept) : boundaries_.fits(a, kept).list;
  const std::vector<Triple<int>>& points = boundaries_.points();
  tiles.any = !list.empty();
  tiles.all = static_cast<int>(list.size()) == points_;
  if (!tiles.any) return tiles;
  for (int c = 0; c < kDims; ++c) {
    const int p = first_of_others(c), q = second_of_others(c);
    tiles.extent[c].assign(size_[c], tiles.all ? static_cast<int>(others(c)) : 0);
    if (tiles.all) continue;
    tiles.barrier[c].assign(points_, kNone);
    for (const int point : list) {
      const Triple<int>& at = points[point];
      const int other = at[p] * size_[q] + at[q];
      tiles.barrier[c][at[c] * others(c) + other] = 0;
      tiles.extent[c][at[c]] = std::max(tiles.extent[c][at[c]], other + 1);
    }
  }
  return tiles;
}

const Inside::Price& Inside::price(int s, int a, int outer) {
  Price& found = prices_[(static_cast<std::size_t>(a) * kSpaces + s) * (levels_ + 1) + outer];
  if (!found.by_reuse.empty()) return found;
  const Boundary& boundary = boundaries_.at(s, a, outer - 1);
  std::vector<double> price = criterion_.price(boundary);
  for (const Boundary::Load& load : boundary.loads)
    for (std::size_t x = 0; x < price.size(); ++x)
      if (load.cycles[x] > most_[s][load.resource]) price[x] = kNever;
  for (const double one : price) found.by_reuse.push_back(static_cast<float>(one / ceiling_));
  const int d = problem_.blind[s];
  for (int c = 0; c < kDims; ++c) {
    if (c == d) continue;
    const int p = first_of_others(c), q = second_of_others(c);
    found.own[c].reserve(others(c));
    for (int y = 0; y < size_[p]; ++y)
      for (int z = 0; z < size_[q]; ++z) found.own[c].push_back(found.by_reuse[d == p ? y : z]);
  }
  return found;
}

// F from Z, and both together. Sweeps along a dimension are quick in its own order, where the others lie side by side,
// and along the first of the others in orders that have the same last one; so
//   F = min( D_2 min(D_1 L_0, D_0 L_1), D_1 D_0 L_2 )
// with L_c the least over the runs along c and D_d the least over divisors in d, turned from one order to another
// between.
void Inside::close(int a, State& state) {
  const Triple<bool>& free = problem_.levels[a + 1].free;
  const auto axis = [&](int d) -> const std::vector<std::vector<int>>& { return boundaries_.axis(d).prime_multiples; };
  runs_.resize(points_);
  turned_.resize(points_);
  float* const runs = runs_.data();
  const auto divide = [&](int d, int order, float* table) {  // d: the dimension of the order itself or the next
    if (!free[d]) return;
    const std::size_t outer = d == order ? 1 : size_[order];
    take_least_of_divisors(axis(d), outer, others(order) / (d == order ? 1 : size_[d]), table);
  };
  state.fresh = room_.take(points_);
  std::fill(state.fresh, state.fresh + points_, kNone);
  float* const turned = turned_.data();
  if (free[0] || free[1]) {
    std::fill(turned, turned + points_, kNone);
    for (const int c : {0, 1}) {
      if (!free[c]) continue;
      if (out_of_time()) return;
      least_of_runs(pairs_[c], state.folded[c], others(c), size_[c], runs);
      divide(1 - c, c, runs);
      take_least(c, runs, 2, turned);
    }
    divide(2, 2, turned);
    take_least(2, turned, 0, state.fresh);
  }
  if (free[2]) {
    if (out_of_time()) return;
    least_of_runs(pairs_[2], state.folded[2], others(2), size_[2], runs);
    divide(0, 2, runs);
    std::fill(turned, turned + points_, kNone);
    take_least(2, runs, 1, turned);
    divide(1, 1, turned);
    take_least(1, turned, 0, state.fresh);
  }
  for (int c = 0; c < kDims; ++c) {
    if (out_of_time()) return;
    const float* tiles = state.fresh;
    if (c > 0) {
      std::fill(turned, turned + points_, kNone);
      take_least(0, tiles, c, turned);
      tiles = turned;
    }
    take_least_by_tile(pairs_[c], tiles, others(c), state.folded[c]);
  }
}

// to = min(to, from), `from` in the order of dimension i, `to` in that of j.
void Inside::take_least(int i, const float* from, int j, float* to) const {
  Triple<std::size_t> stride{};
  stride[i] = others(i);
  stride[first_of_others(i)] = size_[second_of_others(i)];
  stride[second_of_others(i)] = 1;
  const int p = first_of_others(j), q = second_of_others(j);
  const std::size_t step = stride[q], count = size_[q];
  for (int x = 0; x < size_[j]; ++x)
    for (int y = 0; y < size_[p]; ++y, to += count) {
      const float* const row = from + x * stride[j] + y * stride[p];
      if (step == 1)
        for (std::size_t z = 0; z < count; ++z) to[z] = row[z] < to[z] ? row[z] : to[z];
      else
        for (std::size_t z = 0; z < count; ++z) to[z] = row[z * step] < to[z] ? row[z * step] : to[z];
    }
}

const std::vector<float>& Inside::within(int a, const Outer& outer) {
  State& here = state(a, outer);
  if (!here.within.empty() || cut_short_) return here.within;
  here.within.assign(points_, kNone);
  if (!here.any) return here.within;
  if (here.fresh) std::copy(here.fresh, here.fresh + points_, here.within.begin());
  runs_.resize(points_);
  for (int c = 0; c < kDims; ++c) {
    float* to = runs_.data();
    for (int x = 0; x < size_[c]; ++x, to += others(c)) {
      const float* const row = here.folded[c] + last_pair_[c][x] * others(c);
      std::copy(row, row + others(c), to);
    }
    take_least(c, runs_.data(), 0, here.within.data());
  }
  return here.within;
}

double Inside::least() {
  const std::vector<float>& all = within(levels_ - 1, {0, 0, 0});
  return cut_short_ ? 0 : worth(all.back());
}

const Inside::State* Inside::find(int a, const Outer& outer) const {
  const State* found = states_[state_of(levels_, a, outer)].get();
  return found && found->any ? found : nullptr;
}

// Follows one of the least from the outermost level inwards.
Inside::Found Inside::cheapest() {
  Found found;
  Loads& loads = found.loads;
  Outer outer{0, 0, 0};
  Place at;
  at.row = pairs_[0].size() - 1;
  at.pair = pairs_[0][at.row];
  for (int d = 0; d < kDims; ++d) at.x[d] = size_[d] - 1;
  for (int a = levels_ - 1;; --a) {
    const Kept kept = choose(a, outer, at);
    if (kept.cost == kNever) return {};
    for (int s = 0; s < kSpaces; ++s) {
      if (!(kept.subset >> s & 1)) continue;
      const int d = problem_.blind[s];
      if (outer[s] > 0) boundaries_.add(s, a, outer[s] - 1, d == at.c ? at.pair.reached : at.x[d], loads);
      found.keeps[s] |= 1u << a;
    }
    outer = CapacityBound::within(a, kept.subset, outer);
    if (a == 0) {
      found.path.push_back({0, -1, point_of(at.x)});
      break;
    }
    if (!kept.iterates) continue;
    const int point = point_of(at.x);
    at = first_step(a - 1, outer, at.x);
    found.path.push_back({a, at.c, point});
  }
  for (int s = 0; s < kSpaces; ++s)
    for (int r = 0; r < problem_.resources; ++r) loads[r] += boundaries_.innermost_loads(s, outer[s] - 1)[r];
  std::reverse(found.path.begin(), found.path.end());
  return found;
}

// Z of one place, with what level a keeps.
Inside::Kept Inside::choose(int a, const Outer& outer, const Place& at) {
  Kept best;
  const int p = first_of_others(at.c), q = second_of_others(at.c);
  const std::size_t other = static_cast<std::size_t>(at.x[p]) * size_[q] + at.x[q];
  for (std::uint32_t subset = 0; subset < kLatticeInsideSubsets; ++subset) {
    if (!(choices_[state_of(levels_, a, outer)] >> subset & 1)) continue;
    const Tiles& fitting = tiles(a, subset);
    if (!fitting.any || (!fitting.all && fitting.barrier[0][point_of(at.x)] > 0)) continue;
    const Outer inner = CapacityBound::within(a, subset, outer);
    double cost = 0;
    for (int s = 0; s < kSpaces; ++s) {
      const int d = problem_.blind[s];
      if ((subset >> s & 1) && outer[s] > 0)
        cost += price(s, a, outer[s]).by_reuse[d == at.c ? at.pair.reached : at.x[d]];
    }
    bool iterates = false;
    if (a == 0) {
      cost += innermost(inner) / ceiling_;
    } else if (const State* inside = find(a - 1, inner)) {
      const float folded = inside->folded[at.c][at.row * others(at.c) + other];
      cost += folded;
      iterates = inside->fresh[point_of(at.x)] <= folded;
    } else {
      continue;
    }
    if (cost < best.cost) best = {cost, subset, iterates};
  }
  return best;
}

// The innermost loop of level a + 1, and the tile inside its loops, from which F of the tile t comes.
Inside::Place Inside::first_step(int a, const Outer& outer, const Triple<int>& t) {
  const State& inside = *find(a, outer);
  const Triple<bool>& free = problem_.levels[a + 1].free;
  const auto reaches = [&](int d, int from) {
    const std::vector<int>& multiples = boundaries_.axis(d).multiples[from];
    return from == t[d] || (free[d] && std::binary_search(multiples.begin(), multiples.end(), t[d]));
  };
  Place best;
  double least = kNever;
  for (int c = 0; c < kDims; ++c) {
    if (!free[c]) continue;
    const int p = first_of_others(c), q = second_of_others(c);
    for (std::size_t k = 0; k < pairs_[c].size(); ++k) {
      if (pairs_[c][k].reached != t[c] || pairs_[c][k].from == t[c]) continue;
      for (int y = 0; y <= t[p]; ++y)
        for (int z = 0; z <= t[q]; ++z) {
          // Where less is found in F, Z is no less than that.
          const float folded = inside.folded[c][k * others(c) + static_cast<std::size_t>(y) * size_[q] + z];
          if (!(folded < least) || !reaches(p, y) || !reaches(q, z)) continue;
          Place one{c, pairs_[c][k], k, {}};
          one.x[c] = one.pair.from, one.x[p] = y, one.x[q] = z;
          const double cost = choose(a, outer, one).cost;
          if (cost < least) least = cost, best = one;
        }
    }
  }
  return best;
}

}  // namespace orrery::nest::lattice
