// For a level k, a tile t that its loops and those inside span, and the boundaries that are still open,
//     after_k(open, t) = least over the next level's steps and factors of  charges + after_k+1(open', t')
// with infinity where t does not fit storage k. A boundary of s below storage a is charged at the first loop outside it
// that moves s, by the tile there (tile_slides.cc). Where a slide may go on at a level further out, what it spares
// there is not known yet and bounded. That concerns levels with no other loop that moves s, so it is a variant
// ("continues") of the step in which no other such loop is allowed; the charge that ignores the gain holds for all the
// others.
//
// The other loops of a step are free, so that the least over their factors is a transform of after_k+1 over the
// lattice: one pass for each dimension. Charges depend on few dimensions each and are tabulated.
//
// Only tiles matter from which less than the ceiling may be reached: what is open costs some amount outside them,
// whichever dimension iterates next, and what is closed the least of each storage inside (tile_bound.cc). With a good
// answer at hand these are few. Cost: such tiles times moves of the named loops, some nanoseconds each.
#include "orrery/engines/nest/search/tiles/tile_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/tiles/tile_slides.h"

namespace orrery::nest::tiles {

namespace {

constexpr double kTileTableInfinite = std::numeric_limits<double>::infinity();

}  // namespace

Table::Table(const Prices& prices, const Paths& paths, const Boundaries& boundaries, const Pricing& pricing,
             double ceiling, const base::Budget& budget)
    : prices_(prices),
      paths_(paths),
      lattice_(paths.lattice()),
      boundaries_(boundaries),
      pricing_(pricing),
      ceiling_(ceiling),
      clock_(budget, 16),
      levels_(prices.problem().levels),
      dims_(prices.problem().dimensions()),
      spaces_(prices.problem().spaces()) {
  for (int k = 0; k < levels_; ++k) fits_.push_back(list_fits(prices, lattice_, k));
  list_states();
  after_.resize(levels_);
  rest_.resize(levels_);
  paid_.resize(levels_);
  free_.resize(levels_);
  for (int k = 0; k < levels_; ++k) after_[k].assign(states_[k].size(), {});
  close_outermost();
  for (int k = levels_ - 1; k > 0; --k) {
    fill_level(k);
    if (!complete_) return;
    if (k == 1) continue;
    const double least = least_from(k - 1);
    if (least < ceiling_) continue;
    left_out_ = left_out_ || least < kTileTableInfinite;
    return;
  }
  const double fixed = pricing(prices, prices.fixed_pj(), prices.fixed_loads());
  for (int tile = 0; tile < lattice_.size(); ++tile)
    if (paths_.reached(0, tile) && fits_[0][tile] && after_[0][0][tile] < kTileTableInfinite) {
      first_.push_back(tile);
      least_ = std::min(least_, fixed + after_[0][0][tile]);
    }
}

// What is still open outside the outermost level crosses once.
void Table::close_outermost() {
  const int outermost = levels_ - 1;
  Step nothing;
  nothing.first.fill(-1);
  nothing.second.fill(-1);
  Factors whole, once;
  whole.fill(1), once.fill(1);
  for (int d = 0; d < dims_; ++d) whole[d] = prices_.left(d);
  for (std::size_t state = 0; state < states_[outermost].size(); ++state) {
    double cost = 0;
    for (int s = 0; s < spaces_; ++s)
      for (int a = states_[outermost][state][s]; a >= 0 && a < levels_; ++a)
        if ((prices_.config().keep[a] >> s & 1) && prices_.parent(s, a) >= 0) {
          cost += pricing_.crossing(prices_, s, a, words_crossing(prices_, s, a, outermost, whole, nothing, once));
        }
    after_[outermost][state].assign(lattice_.size(), kTileTableInfinite);
    if (fits_[outermost][lattice_.top()]) after_[outermost][state][lattice_.top()] = cost;
  }
}

// What all boundaries cost at least, when nothing is known of the levels inside `level`.
double Table::least_from(int level) const {
  double least = kTileTableInfinite;
  for (std::size_t state = 0; state < states_[level].size(); ++state) {
    const std::vector<double>& after = after_[level][state];
    const double outside = *std::min_element(after.begin(), after.end());
    if (outside < kTileTableInfinite)
      least = std::min(least, outside + boundaries_.closed(level, states_[level][state]));
  }
  return least * (1 - kEqual);
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
      for (const Way& way : paths_.ways(k)) {
        const Open to = step_to(states_[k - 1][state], k, way.step->open);
        auto place = std::find(states_[k].begin(), states_[k].end(), to);
        if (place == states_[k].end()) place = states_[k].insert(states_[k].end(), to);
        next_[k][state].push_back(static_cast<int>(place - states_[k].begin()));
      }
  }
}

// The charges of s where a way's step ends what is open of it, for all places from which its moves start.
const Table::Charges* Table::charges(int level, int s, int open, const Way& way, const std::vector<int>& sources) {
  const Step& step = *way.step;
  const int first = step.first[s], second = step.second[s];
  const bool continues = way.continuing >> s & 1;
  const Lattice::Part& part = lattice_.charged(s);
  const auto [entry, fresh] = charges_.try_emplace({level, s, open, first, second, continues});
  Charges& table = entry->second;
  if (fresh) {
    table.width = (first >= 0 ? lattice_.divisors(first) : 1) * (second >= 0 ? lattice_.divisors(second) : 1);
    table.cost.assign(static_cast<std::size_t>(part.size) * table.width, kTileTableInfinite);
    table.known.assign(part.size, 0);
  }
  std::vector<char> wanted(part.size, 0);
  for (const int tile : sources) wanted[part.place[tile]] = 1;
  // A run ends where its dimensions have come to.
  for (int d = 0; d < dims_; ++d) {
    if (!(step.run[s] >> d & 1)) continue;
    for (int place = 0; place < part.size; ++place) {
      if (!wanted[place]) continue;
      const int u = place / part.stride[d] % lattice_.divisors(d);
      for (const int v : paths_.reachable(level, d, u)) wanted[place + (v - u) * part.stride[d]] = 1;
    }
  }
  for (int place = 0; place < part.size; ++place)
    if (wanted[place] && !table.known[place]) fill_place(table, level, s, open, step, continues, place);
  return &table;
}

void Table::fill_place(Charges& table, int level, int s, int open, const Step& step, bool continues, int place) {
  table.known[place] = 1;
  const int first = step.first[s], second = step.second[s];
  Step bare;  // runs are in the place: their end is what is looked up
  bare.first.fill(-1), bare.second.fill(-1);
  bare.first[s] = static_cast<std::int8_t>(first);
  bare.second[s] = static_cast<std::int8_t>(second);
  const Factors inside = lattice_.charged(s).extents(lattice_, place);
  Factors loops;
  const auto spared_at = [&](int a) {
    // It depends on the boundary and on how far the loops along the axis have come.
    std::array<Count, 5> key{a, 0, 0, 0, 0};
    std::size_t n = 1;
    for (const workload::Term& term : prices_.problem().dataspaces[s].axis_of(first).terms)
      key[n] = inside[term.dimension], key[n + 1] = loops[term.dimension], n += 2;
    const auto [known, unknown] = table.spared.try_emplace(key);
    if (unknown) known->second = spared_further(prices_, s, a, level, inside, bare, loops);
    return known->second;
  };
  const int nfirst = first >= 0 ? lattice_.divisors(first) : 1, nsecond = second >= 0 ? lattice_.divisors(second) : 1;
  for (int v1 = 0; v1 < nfirst; ++v1)
    for (int v2 = 0; v2 < nsecond; ++v2) {
      loops.fill(1);
      bool possible = true;
      for (const auto& [loop, v] : {std::pair{first, v1}, std::pair{second, v2}}) {
        if (loop < 0) continue;
        const Count to = lattice_.divisor(loop, v);
        possible = possible && to % inside[loop] == 0;
        loops[loop] = to / inside[loop];
      }
      if (!possible) continue;
      double cost = 0;
      bool goes_on = !continues;
      for (int a = open; a < level; ++a) {
        if (!(prices_.config().keep[a] >> s & 1) || prices_.parent(s, a) < 0) continue;
        const double share = continues ? spared_at(a) : 0;
        goes_on = goes_on || share > 0;
        cost += pricing_.crossing(prices_, s, a, words_crossing(prices_, s, a, level, inside, bare, loops, share));
      }
      // What nothing takes up is the step that ends here, which has more freedom.
      if (goes_on) table.cost[static_cast<std::size_t>(place) * table.width + v1 * nsecond + v2] = cost;
    }
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
  if (paths_.may_iterate_freely(level, d)) {
    // A prime at a time: every multiple of a divisor is reached by one step after the other.
    for (const auto& [u, v] : paths_.prime_steps(d))
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
        double best = kTileTableInfinite;
        for (const int v : paths_.reachable(level, d, u)) best = std::min(best, least[tile + (v - u) * stride]);
        least[tile] = best;
      }
  return least;
}

double Table::charge(int level, int state, const Way& way, const Move& move, int tile) const {
  double cost = 0;
  const std::vector<const Charges*>& paid = paid_[level][state][index(level, way)];
  for (int s = 0; s < spaces_; ++s)
    if (paid[s])
      cost += paid[s]->cost[static_cast<std::size_t>(lattice_.charged(s).place[tile]) * paid[s]->width + move.entry[s]];
  return cost;
}

// The ways that matter where only some boundaries are open: one stands in for another if it costs no more at those.
std::vector<char> Table::list_usable(int level, const Open& open) const {
  const std::vector<Way>& ways = paths_.ways(level);
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

// Tiles inside `level` from which less than the ceiling may be reached.
std::vector<int> Table::sources(int level, int state) {
  const Open& open = states_[level - 1][state];
  const double inside = boundaries_.closed(level - 1, open);
  std::vector<std::pair<const Lattice::Part*, std::vector<double>>> outside;
  for (int s = 0; s < spaces_ && ceiling_ < kTileTableInfinite; ++s)
    if (open[s] >= 0) outside.emplace_back(&lattice_.charged(s), boundaries_.outside(s, open[s], level));
  std::vector<int> result;
  std::vector<double> sum(static_cast<std::size_t>(dims_) + 1);
  for (int tile = 0; tile < lattice_.size(); ++tile) {
    if (!paths_.reached(level - 1, tile) || !fits_[level - 1][tile]) continue;
    if (ceiling_ < kTileTableInfinite) {
      std::fill(sum.begin(), sum.end(), 0);
      for (const auto& [part, costs] : outside) {
        const double* row = costs.data() + static_cast<std::size_t>(part->place[tile]) * (dims_ + 1);
        for (int d = 0; d <= dims_; ++d) sum[d] += row[d];
      }
      double least = tile == lattice_.top() ? sum[0] : kTileTableInfinite;
      for (int d = 0; d < dims_; ++d)
        if (lattice_.coordinate(tile, d) + 1 < lattice_.divisors(d)) least = std::min(least, sum[d + 1]);
      if (least + inside >= ceiling_) {
        left_out_ = true;
        continue;
      }
    }
    result.push_back(tile);
  }
  return result;
}

void Table::fill_level(int level) {
  paid_[level].resize(states_[level - 1].size());
  free_[level].resize(states_[level - 1].size());
  for (std::size_t state = 0; state < states_[level - 1].size(); ++state) {
    std::vector<double>& out = after_[level - 1][state];
    out.assign(lattice_.size(), kTileTableInfinite);
    const Open& open = states_[level - 1][state];
    const std::vector<char> usable = list_usable(level, open);
    const std::vector<int> all = sources(level, static_cast<int>(state));
    std::vector<int> from;
    for (const Way& way : paths_.ways(level)) {
      if (clock_.spent()) {
        complete_ = false;
        return;
      }
      std::vector<const Charges*>& paid = paid_[level][state].emplace_back(spaces_, nullptr);
      if (!usable[index(level, way)]) {
        free_[level][state].push_back(nullptr);
        continue;
      }
      const std::vector<double>& least = rest_of(level, next(level, static_cast<int>(state), way), way.rest);
      free_[level][state].push_back(least.data());
      from.clear();
      for (const int tile : all)
        if (paths_.may_stay(level, way, tile)) from.push_back(tile);
      if (from.empty()) continue;
      for (int s = 0; s < spaces_; ++s)
        if (!(way.step->open >> s & 1) && open[s] >= 0) paid[s] = charges(level, s, open[s], way, from);
      follow(way, paid, from, least.data(), out);
      if (!complete_) return;
    }
  }
}

// out[tile] = least over the way's moves of what they charge and `to` from there on.
void Table::follow(const Way& way, const std::vector<const Charges*>& paid, const std::vector<int>& sources,
                   const double* to, std::vector<double>& out) {
  std::vector<int> payers;
  for (int s = 0; s < spaces_; ++s)
    if (paid[s]) payers.push_back(s);
  const auto run = [&](auto count) {
    // What the inner loop reads, packed: how far each factor leads, and in each table of charges.
    constexpr int kPayers = decltype(count)::value;
    struct Packed {
      std::int32_t tile = 0;
      std::array<std::int32_t, kPayers> entry{};
      Packed operator+(const Packed& other) const {
        Packed sum = *this;
        sum.tile += other.tile;
        for (int n = 0; n < kPayers; ++n) sum.entry[n] += other.entry[n];
        return sum;
      }
    };
    std::vector<std::vector<std::vector<Packed>>> factors;
    for (const std::vector<std::vector<Move>>& of_loop : way.moves) {
      std::vector<std::vector<Packed>>& packed = factors.emplace_back(of_loop.size());
      for (std::size_t u = 0; u < of_loop.size(); ++u)
        for (const Move& move : of_loop[u]) {
          Packed& one = packed[u].emplace_back();
          one.tile = move.tile;
          for (int n = 0; n < kPayers; ++n) one.entry[n] = move.entry[payers[n]];
        }
    }
    std::vector<Packed> some, more;  // sums over all loops but the last
    for (const int tile : sources) {
      if (clock_.spent()) {
        complete_ = false;
        return;
      }
      some.assign(1, Packed{});
      for (std::size_t n = 0; n + 1 < factors.size(); ++n) {
        more.clear();
        for (const Packed& so_far : some)
          for (const Packed& one : factors[n][lattice_.coordinate(tile, way.named[n])]) more.push_back(so_far + one);
        std::swap(some, more);
      }
      static const std::vector<Packed> kNone(1);
      const std::vector<Packed>& last =
          factors.empty() ? kNone : factors.back()[lattice_.coordinate(tile, way.named.back())];
      std::array<const double*, kPayers> cost;
      for (int n = 0; n < kPayers; ++n)
        cost[n] = paid[payers[n]]->cost.data() +
                  std::ptrdiff_t{lattice_.charged(payers[n]).place[tile]} * paid[payers[n]]->width;
      const double* here = to + tile;
      double best = out[tile];
      for (const Packed& so_far : some)
        for (const Packed& one : last) {
          double sum = here[so_far.tile + one.tile];
          for (int n = 0; n < kPayers; ++n) sum += cost[n][so_far.entry[n] + one.entry[n]];
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

}  // namespace orrery::nest::tiles
