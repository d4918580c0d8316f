// For a level k, a tile t that its loops and those inside span, and the boundaries that are still open,
//     after_k(open, t) = least over the next level's steps and factors of  charges + after_k+1(open', t')
// with infinity where t does not fit storage k. A boundary of s below storage a is charged at the first loop outside it
// that moves s. Let t be the tile inside that level's loops, left the factors that all temporal loops share, f those of
// the run. All loops between a and there leave s where it is, so its box is that of t, and per instance of a
//     words = left / (t f) for each dimension, multiplied, times the box,
// for a window times less: while the loop that ends the run, n iterations of step t_1, slides the box, it brings
// box + (n - 1) slice instead of n boxes, and the next loop along the same axis c_2 instead of a box (boxes.h).
//
// Where the slide may go on at a level further out, its gain is not known yet. It is bounded: as if all loops along its
// axis that are still to come took it up and brought nothing by that. That concerns levels with no other loop that
// moves s, so it is a variant ("continues") of the step in which no other such loop is allowed; the charge that ignores
// the gain holds for all the others.
//
// The other loops of a step are free, so that the least over their factors is a transform of after_k+1 over the
// lattice: one pass for each dimension. Charges depend on few dimensions each and are tabulated. Cost: tiles times
// moves of the named loops, some 10 ns each.
#include "orrery/nest/tile_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "orrery/base/factor.h"
#include "orrery/nest/objective.h"
#include "orrery/nest/tile_bound.h"

namespace orrery::nest::tiles {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

double tiles_of(const Prices& prices) {
  double tiles = 1;
  for (int d = 0; d < prices.problem().dimensions(); ++d)
    tiles *= static_cast<double>(base::divisors(prices.left(d)).size());
  return tiles;
}

Lattice::Lattice(const Prices& prices) {
  for (int d = 0; d < prices.problem().dimensions(); ++d) {
    divisors_.push_back(base::divisors(prices.left(d)));
    stride_.push_back(size_);
    size_ *= static_cast<int>(divisors_.back().size());
  }
  coordinate_.resize(static_cast<std::size_t>(size_) * divisors_.size());
  for (int tile = 0; tile < size_; ++tile)
    for (int d = 0; d < dimensions(); ++d)
      coordinate_[static_cast<std::size_t>(tile) * divisors_.size() + d] =
          static_cast<std::uint16_t>(tile / stride_[d] % divisors(d));
}

double words_crossing(const Prices& prices, int s, int a, int level, const Factors& inside, const Step& step,
                      const Factors& loops, bool continues) {
  const Problem& problem = prices.problem();
  const Dataspace& dataspace = problem.dataspaces[s];
  double passes = 1, box = 1;
  for (int d = 0; d < problem.dimensions(); ++d) {
    passes *= static_cast<double>(prices.left(d) / inside[d]);
    if (step.run[s] >> d & 1) passes /= static_cast<double>(loops[d]);
  }
  const int first = step.first[s], second = step.second[s];
  const Axis* along = first >= 0 ? &dataspace.axis_of(first) : nullptr;
  double side_along = 1;
  for (const Axis& axis : dataspace.axes) {
    Count side = 1;
    for (const workload::Term& term : axis.terms)
      side += term.coefficient * (inside[term.dimension] * prices.spread(a, term.dimension) - 1);
    box *= static_cast<double>(side);
    if (&axis == along) side_along = static_cast<double>(side);
  }
  if (!along) return passes * box;
  const auto step_along = [&](int d) {
    for (const workload::Term& term : along->terms)
      if (term.dimension == d)
        return static_cast<double>(term.coefficient) * static_cast<double>(inside[d] * prices.spread(level, d));
    return 0.0;
  };
  const auto slice = [&](double by) { return box / side_along * std::min(by, side_along); };
  double n1 = static_cast<double>(loops[first]), t1 = step_along(first);
  double n2 = second >= 0 ? static_cast<double>(loops[second]) : 1;
  double t2 = second >= 0 ? step_along(second) : 0;
  if (n1 == 1) n1 = n2, t1 = t2, n2 = 1;
  if (n1 == 1) return passes * box;
  double chain = (n1 - 1) * slice(t1);
  if (n2 > 1) chain = n2 * chain + (n2 - 1) * (t2 == t1 ? 0 : t2 == 2 * t1 ? slice(t1) : box);
  passes /= n1 * n2;
  if (!continues) return passes * (box + chain);
  // Only loops along the axis can take the slide up; all others begin with a box.
  double further = 1;
  for (const workload::Term& term : along->terms)
    further *= static_cast<double>(prices.left(term.dimension) / (inside[term.dimension] * loops[term.dimension]));
  return passes * chain + passes / further * box;
}

Table::Table(const Prices& prices, const Lattice& lattice, const std::vector<std::vector<Step>>& steps,
             const Loads& price, bool loads_only, const cost::Budget& budget, const Hopeless& hopeless)
    : prices_(prices),
      lattice_(lattice),
      price_(price),
      of_energy_(loads_only ? 0 : 1),
      clock_(budget, 64),
      levels_(prices.problem().levels),
      dims_(prices.problem().dimensions()),
      spaces_(prices.problem().spaces()),
      least_(kInfinite) {
  const Space& space = *prices.problem().space;
  for (int s = 0; s < spaces_; ++s) {
    const Dataspace& dataspace = prices.problem().dataspaces[s];
    const std::uint32_t matters = dataspace.shaped | dataspace.blind;
    std::vector<int>& stride = sub_stride_.emplace_back(dims_, 0);
    int size = 1;
    for (int d = 0; d < dims_; ++d)
      if (matters >> d & 1) stride[d] = size, size *= lattice.divisors(d);
    sub_size_.push_back(size);
    std::vector<int>& sub = sub_.emplace_back(lattice.size(), 0);
    for (int tile = 0; tile < lattice.size(); ++tile)
      for (int d = 0; d < dims_; ++d) sub[tile] += stride[d] * lattice.coordinate(tile, d);
  }
  list_reach(space);
  list_prime_steps();
  list_fits(space);
  list_ways(steps);
  list_states();
  after_.resize(levels_);
  rest_.resize(levels_);
  paid_.resize(levels_);
  free_.resize(levels_);
  const int outermost = levels_ - 1;
  for (int k = 0; k < levels_; ++k) after_[k].assign(states_[k].size(), {});
  const Step nothing = [] {
    Step step;
    step.first.fill(-1);
    step.second.fill(-1);
    return step;
  }();
  Factors whole, once;
  whole.fill(1), once.fill(1);
  for (int d = 0; d < dims_; ++d) whole[d] = prices.left(d);
  for (std::size_t state = 0; state < states_[outermost].size(); ++state) {
    double cost = 0;
    for (int s = 0; s < spaces_; ++s)
      for (int a = std::max<int>(states_[outermost][state][s], 0); states_[outermost][state][s] >= 0 && a < levels_;
           ++a)
        if ((prices.config().keep[a] >> s & 1) && prices.parent(s, a) >= 0) {
          Loads loads{};
          const double words = words_crossing(prices, s, a, outermost, whole, nothing, once, false);
          const double energy_pj = prices.crossing(s, a, words, &loads);
          cost += priced(energy_pj, loads);
        }
    closing_.push_back(cost);
    after_[outermost][state].assign(lattice.size(), kInfinite);
    if (fits_[outermost][lattice.top()]) after_[outermost][state][lattice.top()] = cost;
  }
  const double fixed = priced(prices.fixed_pj(), prices.fixed_loads());
  for (int k = outermost; k > 0 && complete_; --k) {
    fill_level(k);
    if (!complete_) return;
    if (!hopeless || k == 1) continue;
    const double least = fixed + least_from(k - 1);
    if (!hopeless(least)) continue;
    least_ = least;
    given_up_ = true;
    return;
  }
  for (int tile = 0; tile < lattice.size(); ++tile)
    if (reached_[0][tile] && fits_[0][tile]) {
      first_.push_back(tile);
      least_ = std::min(least_, fixed + after_[0][0][tile]);
    }
}

double Table::priced(double energy_pj, const Loads& loads) const {
  double cost = of_energy_ * energy_pj;
  for (int p = 0; p < prices_.ports(); ++p) cost += price_[p] * loads[p];
  return cost;
}

// What all boundaries cost at least, when nothing is known of the levels inside `level`: there, those that are not open
// cross once.
double Table::least_from(int level) const {
  double least = kInfinite;
  for (std::size_t state = 0; state < states_[level].size(); ++state) {
    double outside = kInfinite;
    for (int tile = 0; tile < lattice_.size(); ++tile)
      if (reached_[level][tile]) outside = std::min(outside, after_[level][state][tile]);
    if (outside == kInfinite) continue;
    double inside = 0;
    for (int s = 0; s < spaces_; ++s)
      for (int a = 0; a < level; ++a) {
        const int open = states_[level][state][s];
        if ((open >= 0 && a >= open) || !(prices_.config().keep[a] >> s & 1) || prices_.parent(s, a) < 0) continue;
        Loads loads{};
        const double energy_pj = prices_.crossing(s, a, least_words(prices_, s, a), &loads);
        inside += priced(energy_pj, loads);
      }
    least = std::min(least, outside + inside);
  }
  return least * (1 - kEqual);
}

void Table::list_reach(const Space& space) {
  reach_.resize(levels_);
  reached_.resize(levels_);
  std::vector<char> before(lattice_.size(), 0);
  before[0] = 1;
  for (int k = 0; k < levels_; ++k) {
    reach_[k].resize(dims_);
    for (int d = 0; d < dims_; ++d) {
      const std::vector<Count>& allowed = space.temporal(k, prices_.problem().dimension[d]);
      reach_[k][d].resize(lattice_.divisors(d));
      for (int u = 0; u < lattice_.divisors(d); ++u)
        for (int v = u; v < lattice_.divisors(d); ++v) {
          const Count from = lattice_.divisor(d, u), to = lattice_.divisor(d, v);
          if (to % from == 0 && std::binary_search(allowed.begin(), allowed.end(), to / from) &&
              (k + 1 < levels_ || v + 1 == lattice_.divisors(d)))
            reach_[k][d][u].push_back(v);
        }
    }
    for (int d = 0; d < dims_; ++d) {
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

// For each prime of a dimension, pairs (divisor, divisor times the prime), the largest divisors first.
void Table::list_prime_steps() {
  for (int d = 0; d < dims_; ++d) {
    std::vector<std::pair<int, int>>& steps = prime_steps_.emplace_back();
    const int n = lattice_.divisors(d);
    const Count all = lattice_.divisor(d, n - 1);
    if (all == 1) continue;
    for (const auto& [prime, exponent] : base::prime_factors(all))
      for (int u = n - 1; u >= 0; --u)
        for (int v = u + 1; v < n; ++v)
          if (lattice_.divisor(d, v) == lattice_.divisor(d, u) * prime) steps.emplace_back(u, v);
  }
  free_to_iterate_.assign(levels_, std::vector<char>(dims_, 1));
  for (int k = 0; k < levels_; ++k)
    for (int d = 0; d < dims_; ++d)
      for (int u = 0; u < lattice_.divisors(d); ++u) {
        std::size_t multiples = 0;
        for (int v = u; v < lattice_.divisors(d); ++v)
          multiples += lattice_.divisor(d, v) % lattice_.divisor(d, u) == 0;
        // Outermost, all that is left must be taken; then nothing else has a finite cost.
        if (k + 1 < levels_ && reach_[k][d][u].size() != multiples) free_to_iterate_[k][d] = 0;
      }
  const Space& space = *prices_.problem().space;
  for (int d = 0; d < dims_; ++d)
    for (const Count divisor : base::divisors(lattice_.divisor(d, lattice_.divisors(d) - 1))) {
      const std::vector<Count>& allowed = space.temporal(levels_ - 1, prices_.problem().dimension[d]);
      if (!std::binary_search(allowed.begin(), allowed.end(), divisor)) free_to_iterate_[levels_ - 1][d] = 0;
    }
}

void Table::list_fits(const Space& space) {
  fits_.resize(levels_);
  for (int k = 0; k < levels_; ++k) {
    fits_[k].assign(lattice_.size(), 1);
    const std::optional<Count> capacity = space.capacity(k);
    const Count least = space.minimum_use(k);
    const std::uint32_t keep = prices_.config().keep[k];
    if (!capacity && least == 0) continue;
    for (int tile = 0; tile < lattice_.size(); ++tile) {
      Factors extents;
      for (int d = 0; d < dims_; ++d) extents[d] = lattice_.extent(tile, d) * prices_.spread(k, d);
      Count words = 0;
      for (std::uint32_t rest = keep; rest != 0; rest &= rest - 1)
        words += prices_.problem().dataspaces[__builtin_ctz(rest)].tile(extents);
      fits_[k][tile] = (!capacity || words <= *capacity) && words >= least;
    }
  }
}

Open Table::step_to(const Open& open, int level, std::uint32_t stays) const {
  Open next = open;
  for (int s = 0; s < spaces_; ++s) {
    if (!(stays >> s & 1)) next[s] = -1;
    if (next[s] < 0 && (prices_.config().keep[level] >> s & 1) && prices_.parent(s, level) >= 0)
      next[s] = static_cast<std::int8_t>(level);
  }
  return next;
}

void Table::list_states() {
  states_.resize(levels_);
  next_.resize(levels_);
  Open none;
  none.fill(-1);
  states_[0] = {step_to(none, 0, ~0u)};
  for (int k = 1; k < levels_; ++k) {
    next_[k].resize(states_[k - 1].size());
    for (std::size_t state = 0; state < states_[k - 1].size(); ++state)
      for (const Way& way : ways_[k]) {
        const Open to = step_to(states_[k - 1][state], k, way.step->open);
        auto place = std::find(states_[k].begin(), states_[k].end(), to);
        if (place == states_[k].end()) place = states_[k].insert(states_[k].end(), to);
        next_[k][state].push_back(static_cast<int>(place - states_[k].begin()));
      }
  }
}

// Whether a loop further out could take up the slide that ends at this step at all.
bool Table::may_continue(int s, const Step& step, int level) const {
  const Dataspace& dataspace = prices_.problem().dataspaces[s];
  const int first = step.first[s];
  if (first < 0 || (step.open >> s & 1) || level + 1 >= levels_) return false;
  for (const workload::Term& term : dataspace.axis_of(first).terms)
    for (int k = level + 1; k < levels_; ++k) {
      const std::vector<Count>& allowed =
          prices_.problem().space->temporal(k, prices_.problem().dimension[term.dimension]);
      if (!allowed.empty() && allowed.back() > 1 && prices_.left(term.dimension) > 1) return true;
    }
  return false;
}

// The same for these factors. Steps of the axis' other dimension that are all shorter than those of the slide, or all
// longer than anything that its dimension moves, never meet it; nor do later loops of its own dimension once it has
// taken three iterations or more.
bool Table::may_meet(int s, const Step& step, int level, const Factors& inside, const Factors& loops) const {
  const Axis& axis = prices_.problem().dataspaces[s].axis_of(step.first[s]);
  const auto iterates = [&](int d) { return d >= 0 && loops[d] > 1; };
  const bool both = iterates(step.first[s]) && iterates(step.second[s]);
  const int slides = iterates(step.first[s]) ? step.first[s] : step.second[s];
  if (!iterates(slides)) return false;
  const auto coefficient = [&](int d) { return axis.terms[axis.terms[0].dimension == d ? 0 : 1].coefficient; };
  for (const workload::Term& term : axis.terms) {
    const int d = term.dimension;
    if (inside[d] * loops[d] == prices_.left(d)) continue;  // none of its loops is left
    if (both) return true;
    if (d == slides) {
      if (loops[d] == 2) return true;
      continue;
    }
    const double by = static_cast<double>(coefficient(slides) * inside[slides] * prices_.spread(level, slides));
    // What the steps of a dimension's loops that are still to come add up to, at most.
    const auto reach = [&](int dimension, Count reached) {
      const Count bound = prices_.problem().bound[dimension], left = prices_.left(dimension) / reached;
      if (left == 1) return 0.0;
      const bool one_loop = base::prime_factors(left).size() == 1 && base::prime_factors(left)[0].second == 1;
      return static_cast<double>(coefficient(dimension) * (one_loop ? bound / left : bound - 1));
    };
    const double most = reach(d, inside[d]);
    const double least = static_cast<double>(term.coefficient * inside[d] * prices_.spread(level, d));
    const double whole = by + reach(slides, inside[slides] * loops[slides]);
    if (most >= by && least <= whole + by) return true;
  }
  return false;
}

void Table::list_ways(const std::vector<std::vector<Step>>& steps) {
  ways_.resize(levels_);
  const std::uint32_t all = (1u << dims_) - 1;
  for (int k = 1; k < levels_; ++k) {
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
      for (int s = 0; s < spaces_; ++s)
        if (may_continue(s, step, k)) may |= 1u << s;
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
      for (int s = 0; s < spaces_; ++s)
        if (continuing >> s & 1) way.rest &= ~prices_.problem().dataspaces[s].relevant;
      int places = 1;
      for (int d = 0; d < dims_; ++d)
        if (step->named >> d & 1) way.named.push_back(d), places *= lattice_.divisors(d);
      way.moves.resize(places);
      for (int place = 0; place < places; ++place) {
        std::vector<int> from;
        int rest = place;
        for (const int d : way.named) from.push_back(rest % lattice_.divisors(d)), rest /= lattice_.divisors(d);
        std::vector<std::size_t> at(way.named.size(), 0);
        bool possible = true;
        for (std::size_t n = 0; n < way.named.size(); ++n)
          possible = possible && !reach_[k][way.named[n]][from[n]].empty();
        while (possible) {
          Move move;
          bool allowed = true;
          for (std::size_t n = 0; n < way.named.size(); ++n) {
            const int d = way.named[n], v = reach_[k][d][from[n]][at[n]];
            move.coordinate.push_back(v);
            move.tile += (v - from[n]) * lattice_.stride(d);
          }
          for (int s = 0; s < spaces_ && allowed; ++s) {
            if (step->open >> s & 1) continue;
            int width = 1, entry = 0, chain = 0;
            for (const int loop : {int{step->second[s]}, int{step->first[s]}})
              if (loop >= 0) {
                const std::size_t n = std::find(way.named.begin(), way.named.end(), loop) - way.named.begin();
                entry += width * move.coordinate[n];
                width *= lattice_.divisors(loop);
                chain += move.coordinate[n] != from[n];
              }
            for (std::size_t n = 0; n < way.named.size(); ++n) {
              const int d = way.named[n];
              if (step->run[s] >> d & 1) entry += width * (move.coordinate[n] - from[n]) * sub_stride_[s][d];
              // Another loop that moves s ends the slide for good.
              if ((continuing >> s & 1) && move.coordinate[n] != from[n] && d != step->first[s] &&
                  d != step->second[s] && (prices_.problem().dataspaces[s].relevant >> d & 1))
                allowed = false;
            }
            if ((continuing >> s & 1) && chain == 0) allowed = false;
            move.entry[s] = entry;
          }
          if (allowed) way.moves[place].push_back(std::move(move));
          std::size_t n = 0;
          while (n < at.size() && ++at[n] == reach_[k][way.named[n]][from[n]].size()) at[n++] = 0;
          if (n == at.size()) break;
        }
      }
      ways_[k].push_back(std::move(way));
    }
  }
}

const Table::Charges* Table::charges(int level, int s, int open, const Step& step, bool continues) {
  const int first = step.first[s], second = step.second[s];
  const auto [place, fresh] = charges_.try_emplace({level, s, open, first, second, continues});
  Charges& table = place->second;
  if (!fresh) return &table;
  const int nfirst = first >= 0 ? lattice_.divisors(first) : 1, nsecond = second >= 0 ? lattice_.divisors(second) : 1;
  table.width = nfirst * nsecond;
  table.cost.assign(static_cast<std::size_t>(sub_size_[s]) * table.width, kInfinite);
  Step bare;  // runs are in the place: their end is what is looked up
  bare.first.fill(-1), bare.second.fill(-1);
  bare.first[s] = static_cast<std::int8_t>(first);
  bare.second[s] = static_cast<std::int8_t>(second);
  for (int sub = 0; sub < sub_size_[s]; ++sub) {
    Factors inside, loops;
    inside.fill(1), loops.fill(1);
    for (int d = 0; d < dims_; ++d)
      if (sub_stride_[s][d] > 0) inside[d] = lattice_.divisor(d, sub / sub_stride_[s][d] % lattice_.divisors(d));
    for (int v1 = 0; v1 < nfirst; ++v1)
      for (int v2 = 0; v2 < nsecond; ++v2) {
        bool possible = true;
        for (const auto& [loop, v] : {std::pair{first, v1}, std::pair{second, v2}}) {
          if (loop < 0) continue;
          const Count to = lattice_.divisor(loop, v);
          possible = possible && to % inside[loop] == 0;
          loops[loop] = to / inside[loop];
        }
        if (!possible) continue;
        const bool goes_on = continues && may_meet(s, bare, level, inside, loops);
        double cost = 0;
        for (int a = open; a < level; ++a) {
          if (!(prices_.config().keep[a] >> s & 1) || prices_.parent(s, a) < 0) continue;
          Loads loads{};
          const double words = words_crossing(prices_, s, a, level, inside, bare, loops, goes_on);
          const double energy_pj = prices_.crossing(s, a, words, &loads);
          cost += priced(energy_pj, loads);
        }
        table.cost[static_cast<std::size_t>(sub) * table.width + v1 * nsecond + v2] = cost;
        loops.fill(1);
      }
  }
  return &table;
}

// Least of after_ over what the dimensions in `rest` may do at `level`: one dimension more than for a smaller set.
const std::vector<double>& Table::rest_of(int level, int state, std::uint32_t rest) {
  if (rest == 0) return after_[level][state];
  const auto [place, fresh] = rest_[level].try_emplace({state, rest});
  std::vector<double>& least = place->second;
  if (!fresh) return least;
  const int d = std::bit_width(rest) - 1;
  least = rest_of(level, state, rest & ~(1u << d));
  const int n = lattice_.divisors(d), stride = lattice_.stride(d);
  if (free_to_iterate_[level][d]) {
    // A prime at a time: every multiple of a divisor is reached by one step after the other.
    for (const auto& [u, v] : prime_steps_[d])
      for (int block = 0; block < lattice_.size(); block += n * stride) {
        double* to = least.data() + block + u * stride;
        const double* from = least.data() + block + v * stride;
        for (int inner = 0; inner < stride; ++inner) to[inner] = std::min(to[inner], from[inner]);
      }
    return least;
  }
  for (int block = 0; block < lattice_.size(); block += n * stride)
    for (int u = 0; u < n; ++u)
      for (int inner = 0; inner < stride; ++inner) {
        const int tile = block + u * stride + inner;
        double best = kInfinite;
        for (const int v : reach_[level][d][u]) best = std::min(best, least[tile + (v - u) * stride]);
        least[tile] = best;
      }
  return least;
}

int Table::place(const Way& way, int tile) const {
  int place = 0, width = 1;
  for (const int d : way.named) place += width * lattice_.coordinate(tile, d), width *= lattice_.divisors(d);
  return place;
}

int Table::next(int level, int state, const Way& way) const {
  return next_[level][state][&way - ways_[level].data()];
}

double Table::charge(int level, int state, const Way& way, const Move& move, int tile) const {
  double cost = 0;
  const std::vector<const Charges*>& paid = paid_[level][state][&way - ways_[level].data()];
  for (int s = 0; s < spaces_; ++s)
    if (paid[s]) cost += paid[s]->cost[static_cast<std::size_t>(sub_[s][tile]) * paid[s]->width + move.entry[s]];
  return cost;
}

double Table::after_rest(int level, int state, const Way& way, int tile) const {
  return free_[level][state][&way - ways_[level].data()][tile];
}

// The ways that matter where only some boundaries are open: one stands in for another if it costs no more at those.
std::vector<char> Table::list_usable(int level, const Open& open) const {
  const std::vector<Way>& ways = ways_[level];
  std::uint32_t some = 0;
  for (int s = 0; s < spaces_; ++s)
    if (open[s] >= 0) some |= 1u << s;
  std::vector<char> usable(ways.size(), 1);
  for (std::size_t a = 0; a < ways.size(); ++a) {
    usable[a] = (ways[a].continuing & ~some) == 0;
    for (std::size_t b = 0; b < ways.size() && usable[a]; ++b)
      if (b != a && usable[b] && ways[b].continuing == ways[a].continuing && ways[b].step != ways[a].step &&
          stands_in(*ways[b].step, *ways[a].step, some))
        usable[a] = 0;
  }
  return usable;
}

void Table::fill_level(int level) {
  paid_[level].resize(states_[level - 1].size());
  free_[level].resize(states_[level - 1].size());
  for (std::size_t state = 0; state < states_[level - 1].size(); ++state) {
    std::vector<double>& out = after_[level - 1][state];
    out.assign(lattice_.size(), kInfinite);
    const Open& open = states_[level - 1][state];
    const std::vector<char> usable = list_usable(level, open);
    for (const Way& way : ways_[level]) {
      if (clock_.spent()) {
        complete_ = false;
        return;
      }
      if (!usable[static_cast<std::size_t>(&way - ways_[level].data())]) {
        free_[level][state].push_back(nullptr);
        paid_[level][state].emplace_back();
        continue;
      }
      const std::vector<double>& least = rest_of(level, next(level, static_cast<int>(state), way), way.rest);
      free_[level][state].push_back(least.data());
      std::vector<const Charges*>& paid = paid_[level][state].emplace_back(spaces_, nullptr);
      for (int s = 0; s < spaces_; ++s)
        if (!(way.step->open >> s & 1) && open[s] >= 0)
          paid[s] = charges(level, s, open[s], *way.step, way.continuing >> s & 1);
      std::vector<int> still;  // dimensions that do not iterate here: allowed to stay?
      for (int d = 0; d < dims_; ++d)
        if (!(way.rest >> d & 1) && !(way.step->named >> d & 1)) still.push_back(d);
      const auto stays = [&](int tile) {
        for (const int d : still) {
          const int u = lattice_.coordinate(tile, d);
          const std::vector<int>& to = reach_[level][d][u];
          if (to.empty() || to[0] != u) return false;
        }
        return true;
      };
      std::vector<int> payers;
      for (int s = 0; s < spaces_; ++s)
        if (paid[s]) payers.push_back(s);
      const auto run = [&](auto count) {
        // What the inner loop reads, packed: where each move leads, and its place in each table of charges.
        constexpr int kPayers = decltype(count)::value;
        struct Packed {
          std::int32_t tile;
          std::array<std::int32_t, kPayers> entry;
        };
        std::vector<Packed> packed;
        std::vector<std::size_t> begin{0};
        for (const std::vector<Move>& moves : way.moves) {
          for (const Move& move : moves) {
            Packed one;
            one.tile = move.tile;
            for (int n = 0; n < kPayers; ++n) one.entry[n] = move.entry[payers[n]];
            packed.push_back(one);
          }
          begin.push_back(packed.size());
        }
        for (int tile = 0; tile < lattice_.size(); ++tile) {
          if (!reached_[level - 1][tile] || !fits_[level - 1][tile] || !stays(tile)) continue;
          const std::size_t at = static_cast<std::size_t>(place(way, tile));
          std::array<const double*, kPayers> cost;
          for (int n = 0; n < kPayers; ++n)
            cost[n] = paid[payers[n]]->cost.data() + std::ptrdiff_t{sub_[payers[n]][tile]} * paid[payers[n]]->width;
          const double* to = least.data() + tile;
          double best = out[tile];
          for (std::size_t m = begin[at]; m < begin[at + 1]; ++m) {
            double sum = to[packed[m].tile];
            for (int n = 0; n < kPayers; ++n) sum += cost[n][packed[m].entry[n]];
            best = std::min(best, sum);
          }
          out[tile] = best;
        }
      };
      [&]<std::size_t... kCount>(std::index_sequence<kCount...>) {
        ((payers.size() == kCount ? run(std::integral_constant<int, kCount>()) : void()), ...);
      }
      (std::make_index_sequence<kMaxDataspaces + 1>());
    }
  }
}

}  // namespace orrery::nest::tiles
