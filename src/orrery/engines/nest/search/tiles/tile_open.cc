// A configuration is bounded by the tiles that fit its storages (tile_bound.cc), then gets its table (tile_table.cc).
// What the best answer so far leaves to energy and cycles is the table's ceiling; the cheapest path through it is a
// mapping.
//
// Where a port binds, a second table prices its load beside the energy, and a third has the load alone. If a port binds
// in the best answer, the second table comes first for all others. Where the tables' bound is below the best answer,
// mappings are opened from the innermost level outwards, depth first, cheapest bound first: paid so far + table for
// what is still to come, and the loads of ports so far.
//
// Cost: a table takes up to a millisecond for each thousand tiles.
#include "orrery/engines/nest/search/tiles/tile_open.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "orrery/engines/nest/search/tiles/tile_slides.h"

namespace orrery::nest::tiles {

using namespace limits;

Opener::Opener(const Problem& problem, Goal& goal, const base::Budget& budget)
    : problem_(problem), goal_(goal), budget_(budget), clock_(budget, 64), mappings_(problem, goal, [this] {
        return out_of_time();
      }) {
  for (int level = 0; level < problem.levels; ++level)
    steps_.push_back(level == 0 ? std::vector<Step>{} : list_steps(problem, *problem.space, level));
}

// Cycles that any mapping is active at least: each boundary is crossed by each word once.
double Opener::least_active(const Prices& prices) const {
  Loads loads = prices.fixed_loads();
  for (int a = 0; a < problem_.levels; ++a)
    for (int s = 0; s < problem_.spaces(); ++s)
      if ((prices.config().keep[a] >> s & 1) && prices.parent(s, a) >= 0)
        prices.crossing(s, a, least_words(prices, s, a), &loads);
  return prices.active(loads);
}

Opener::Shared& Opener::shared_of(const Prices& prices) {
  Factors left;
  left.fill(1);
  for (int d = 0; d < problem_.dimensions(); ++d) left[d] = prices.left(d);
  const auto place = shared_.find(left);
  if (place != shared_.end()) return place->second;
  const double tiles = tiles_of(prices);
  if (shared_tiles_ + tiles > kMostPathTiles) shared_.clear(), shared_tiles_ = 0;
  shared_tiles_ += tiles;
  return shared_.try_emplace(left, problem_, left).first->second;
}

const Paths& Opener::paths_of(const Prices& prices) {
  Shared& shared = shared_of(prices);
  if (!shared.paths) shared.paths.emplace(problem_, steps_, shared.left, shared.lattice);
  return *shared.paths;
}

void Opener::sharpen(Candidate& candidate) {
  const Prices prices(problem_, candidate.config);
  if (tiles_of(prices) > kMostTiles) return;
  const Lattice& lattice = shared_of(prices).lattice;
  const double active = least_active(prices);
  const double energy_pj = Boundaries(prices, lattice, {}).total();
  candidate.bound = std::max(candidate.bound, goal_.key(prices.energy_pj(energy_pj, active), active));
  if (binding_port_ < 0 || drop(candidate.bound)) return;
  const double both = Boundaries(prices, lattice, both_pricing(binding_port_)).total();
  candidate.bound = std::max(candidate.bound, least_key(prices, energy_pj, active, both, goal_.rate()));
}

// Of so much energy, leakage apart, so many active cycles and so much energy + rate * cycles at least.
Key Opener::least_key(const Prices& prices, double energy_pj, double active, double together, double rate) const {
  return goal_.traded(goal_.key(prices.energy_pj(energy_pj, active), active), energy_pj, active,
                      prices.leak_pj_per_cycle(), together, rate);
}

Pricing Opener::both_pricing(int port) const {
  Pricing pricing;
  pricing.price[port] = goal_.rate();
  return pricing;
}

// Whether the candidate can be given up after its bound has risen.
bool Opener::raise(Candidate& candidate, const Key& bound) {
  candidate.bound = std::max(candidate.bound, bound);
  if (!drop(candidate.bound)) return false;
  ++bounded_;
  return true;
}

void Opener::use(const Prices& prices, const Paths& paths) {
  prices_ = &prices;
  paths_in_use_ = &paths;
  lattice_ = &paths.lattice();
  table_ = alone_ = both_ = nullptr;
  rate_ = 0;
  price_.fill(0);
  chosen_.assign(problem_.levels, {});
}

// The table of energy. Raises `energy_pj`, what any mapping takes at least; `loads`: of its least path. An answer: what
// search() is to say, since nothing more is to be done.
//
// The better the best mapping, the fewer tiles a table has. So while it leaves room for far more than is needed at
// least, the table is made for a little more than that, and again if that was too little.
std::optional<bool> Opener::tabulate(Candidate& candidate, const Boundaries& dear, double active, double& energy_pj,
                                     std::optional<Table>& table, Loads& loads) {
  const double leak_pj = prices_->leak_pj_per_cycle();
  const auto at_least = [&] { return goal_.key(prices_->energy_pj(energy_pj, active), active); };
  for (double trial = goal_.first() == Metric::kDelay ? kNever : energy_pj * kFirstTrial;; trial *= kNextTrial) {
    const double most_pj = goal_.most_energy_pj(active, leak_pj),
                 ceiling = trial * kFirstTrial < most_pj ? trial : most_pj;
    table.emplace(*prices_, *paths_in_use_, dear, Pricing{}, ceiling, budget_);
    if (!table->complete()) return false;
    if (!std::isfinite(table->least()) || (table->first_tiles().empty() && !table->left_out())) {
      ++unfit_;
      return true;
    }
    energy_pj = std::max(energy_pj, table->least());
    if (raise(candidate, at_least())) return true;
    table_ = &*table;
    if (table->least() < ceiling) dive(*table, loads);
    if (raise(candidate, at_least())) return true;
    if (ceiling >= goal_.most_energy_pj(active, leak_pj)) return std::nullopt;
    if (table->least() < ceiling) trial = kNever;
  }
}

bool Opener::search(Candidate& candidate, std::uint64_t most) {
  const Prices prices(problem_, candidate.config);
  if (tiles_of(prices) * problem_.levels * kBytesOfATile > std::min(kMostBytes, budget_.room())) return false;
  const Paths& paths = paths_of(prices);
  const Lattice& lattice = paths.lattice();
  double active = least_active(prices);
  const double leak_pj = prices.leak_pj_per_cycle();
  const auto at_least = [&](double energy_pj) { return goal_.key(prices.energy_pj(energy_pj, active), active); };
  const Boundaries dear(prices, lattice, {});
  double energy_pj = dear.total();
  if (!std::isfinite(energy_pj)) {
    ++unfit_;
    return true;
  }
  if (raise(candidate, at_least(energy_pj))) return true;
  use(prices, paths);
  // Energy and load together, of one port. False: nothing more to be done.
  std::optional<Boundaries> beside;
  std::optional<Table> together;
  const auto add_together = [&](int port) {
    port_ = port;
    rate_ = goal_.rate();
    price_.fill(0);
    price_[port] = rate_;
    beside.emplace(prices, lattice, both_pricing(port));
    together.emplace(prices, paths, *beside, both_pricing(port), goal_.most_together(energy_pj, active, leak_pj),
                     budget_);
    both_ = &*together;
    if (!together->complete()) return false;
    return !raise(candidate, least_key(prices, energy_pj, active, together->least(), rate_));
  };
  // Where a port binds in the best answer, it probably does here.
  if (binding_port_ >= 0 && !add_together(binding_port_)) return together->complete();
  const Key before = goal_.best();
  Loads loads = prices.fixed_loads(), others = loads;
  std::optional<Table> of_energy;
  if (const std::optional<bool> over = tabulate(candidate, dear, active, energy_pj, of_energy, loads)) return *over;
  if (both_) dive(*both_, others);
  // The port that the cheapest mapping loads most: how little any mapping can load it, and energy and load together.
  int port = -1;
  if (goal_.first() != Metric::kEnergy && prices.active(loads) > active * (1 + kEqual))
    port = static_cast<int>(std::max_element(loads.begin(), loads.begin() + prices.ports()) - loads.begin());
  if (goal_.best()[0] < before[0] && goal_.first() == Metric::kEdp) binding_port_ = port;
  if (raise(candidate, candidate.bound)) return true;
  std::optional<Boundaries> idle;
  std::optional<Table> alone;
  if (port >= 0) {
    Pricing load;
    load.price[port] = 1;
    load.loads_only = true;
    idle.emplace(prices, lattice, load);
    alone.emplace(prices, paths, *idle, load, goal_.most_active(energy_pj, leak_pj), budget_);
    if (!alone->complete()) return false;
    Loads least = prices.fixed_loads();
    least[port] = std::max(least[port], alone->least());
    active = std::max(active, prices.active(least));
    if (raise(candidate, at_least(energy_pj))) return true;
    dive(*alone, others);
    alone_ = &*alone;
    if (goal_.first() == Metric::kEdp && goal_.evaluation().needed_cycles() > 0) {
      if (port != port_ || !both_ || rate_ > goal_.rate() * kNearby || rate_ < goal_.rate() / kNearby) {
        if (!add_together(port)) return together->complete();
        dive(*both_, others);
      } else if (raise(candidate, least_key(prices, energy_pj, active, both_->least(), rate_))) {
        return true;
      }
    }
    port_ = port;
  }
  if (raise(candidate, candidate.bound)) return true;
  mappings_.forget_orders();
  nodes_ = 0;
  most_nodes_ = most;
  stopped_ = false;
  descend();
  return !stopped_;
}

// Follows the least path of `table` and evaluates it; `loads`: of its ports.
void Opener::dive(const Table& table, Loads& loads) {
  int state = table.begin(), tile = -1;
  double least = kNever;
  for (const int first : table.first_tiles())
    if (table.after(0, state, first) < least) least = table.after(0, state, first), tile = first;
  if (tile < 0) return;
  loads = prices_->fixed_loads();
  begin(tile);
  for (int level = 1; level < problem_.levels; ++level) {
    const Way* best_way = nullptr;
    int named = 0;
    least = kNever;
    for (const Way& way : paths_in_use_->ways(level)) {
      if (!table.usable(level, state, way) || !paths_in_use_->may_stay(level, way, tile)) continue;
      way.each_move(*lattice_, tile, [&](const Move& move) {
        const double cost =
            table.charge(level, state, way, move, tile) + table.after_rest(level, state, way, tile + move.tile);
        if (cost < least) least = cost, best_way = &way, named = tile + move.tile;
      });
    }
    if (!best_way) return;
    const int next = table.next(level, state, *best_way);
    const int to = finish_rest(table, level, next, *best_way, named);
    take(level, state, *best_way, tile, to, loads);
    tile = to, state = next;
  }
  close(state, loads);
  const double active = prices_->active(loads);
  if (!goal_.too_slow(active)) mappings_.offer(prices_->config(), chosen_, Key{});
}

// The best of the other loops of a way.
int Opener::finish_rest(const Table& table, int level, int next, const Way& way, int from) const {
  int best = -1;
  double least = kNever;
  each_rest(level, way, from, 0, [&](int tile) {
    const double cost = table.after(level, next, tile);
    if (cost < least || best < 0) least = cost, best = tile;
  });
  return best;
}

template <typename Use>
void Opener::each_rest(int level, const Way& way, int tile, int d, const Use& use) const {
  while (d < problem_.dimensions() && !(way.rest >> d & 1)) ++d;
  if (d == problem_.dimensions()) return use(tile);
  const int u = lattice_->coordinate(tile, d);
  for (const int v : paths_in_use_->reachable(level, d, u))
    each_rest(level, way, tile + (v - u) * lattice_->stride(d), d + 1, use);
}

void Opener::begin(int tile) {
  chosen_[0].step = nullptr;
  chosen_[0].continuing = 0;
  for (int d = 0; d < problem_.dimensions(); ++d) chosen_[0].loops[d] = lattice_->extent(tile, d);
}

Factors Opener::extents(int tile) const {
  Factors inside;
  inside.fill(1);
  for (int d = 0; d < problem_.dimensions(); ++d) inside[d] = lattice_->extent(tile, d);
  return inside;
}

// Chooses the loops of `level` and adds what they load. Returns the energy that they settle.
double Opener::take(int level, int state, const Way& way, int tile, int to, Loads& loads) {
  const Factors inside = extents(tile);
  Chosen& chosen = chosen_[level];
  const Open& open = table_->states(level - 1)[state];
  chosen.step = way.step;
  chosen.continuing = way.continuing;
  chosen.open = open;
  chosen.inside = inside;
  chosen.loops.fill(1);
  for (int d = 0; d < problem_.dimensions(); ++d) chosen.loops[d] = lattice_->extent(to, d) / inside[d];
  double energy_pj = correct_slides(level, loads);
  for (int s = 0; s < problem_.spaces(); ++s) {
    if ((way.step->open >> s & 1) || open[s] < 0) continue;
    for (int a = open[s]; a < level; ++a)
      if ((prices_->config().keep[a] >> s & 1) && prices_->parent(s, a) >= 0) {
        const double spared =
            way.continuing >> s & 1 ? spared_further(*prices_, s, a, level, inside, *way.step, chosen.loops) : 0;
        energy_pj += prices_->crossing(
            s, a, words_crossing(*prices_, s, a, level, inside, *way.step, chosen.loops, spared), &loads);
      }
  }
  return energy_pj;
}

// What levels inside have been spared too much for slides that might have gone on at `level`, and do not.
double Opener::correct_slides(int level, Loads& loads) const {
  double energy_pj = 0;
  for (int k = 1; k < level; ++k)
    for (std::uint32_t rest = chosen_[k].continuing; rest != 0; rest &= rest - 1) {
      const int s = __builtin_ctz(rest);
      const Chosen& slide = chosen_[k];
      std::array<const Factors*, kMaxLevels> known;
      for (int j = k + 1; j <= level; ++j) known[j - k - 1] = &chosen_[j].loops;
      const std::span<const Factors* const> all(known.data(), static_cast<std::size_t>(level - k));
      for (int a = slide.open[s]; a < k; ++a) {
        if (!(prices_->config().keep[a] >> s & 1) || prices_->parent(s, a) < 0) continue;
        const auto spared = [&](const auto& chosen) {
          return spared_further(*prices_, s, a, k, slide.inside, *slide.step, slide.loops, chosen);
        };
        const double thought = spared(all.first(all.size() - 1)), left = spared(all);
        if (left >= thought) continue;
        const auto crossing = [&](double share, Loads& into) {
          return prices_->crossing(
              s, a, words_crossing(*prices_, s, a, k, slide.inside, *slide.step, slide.loops, share), &into);
        };
        Loads before{}, after{};
        energy_pj += crossing(left, after) - crossing(thought, before);
        for (int p = 0; p < prices_->ports(); ++p) loads[p] += after[p] - before[p];
      }
    }
  return energy_pj;
}

// What is still open outside the outermost level crosses once.
double Opener::close(int state, Loads& loads) {
  Step nothing;
  nothing.first.fill(-1), nothing.second.fill(-1);
  Factors once;
  once.fill(1);
  const Factors whole = extents(lattice_->top());
  double energy_pj = 0;
  const Open& open = table_->states(problem_.levels - 1)[state];
  for (int s = 0; s < problem_.spaces(); ++s)
    for (int a = open[s]; a >= 0 && a < problem_.levels; ++a)
      if ((prices_->config().keep[a] >> s & 1) && prices_->parent(s, a) >= 0)
        energy_pj +=
            prices_->crossing(s, a, words_crossing(*prices_, s, a, problem_.levels - 1, whole, nothing, once), &loads);
  return energy_pj;
}

double Opener::priced(double energy_pj, const Loads& loads) const {
  for (int p = 0; p < prices_->ports(); ++p) energy_pj += price_[p] * loads[p];
  return energy_pj;
}

// `load_to_come`: of the port that binds.
Key Opener::bound_of(double settled_pj, const Loads& loads, double to_come, double load_to_come,
                     double both_to_come) const {
  double active = prices_->active(loads);
  if (alone_) active = std::max(active, prices_->whole(loads[port_] + load_to_come));
  const double energy_pj = settled_pj + to_come;
  const double together = both_ ? priced(settled_pj, loads) + both_to_come : 0;
  return least_key(*prices_, energy_pj, active, together, both_ ? rate_ : 0);
}

bool Opener::out_of_time() {
  ++nodes_;
  if (!stopped_ && ((most_nodes_ > 0 && nodes_ > most_nodes_) || clock_.spent())) stopped_ = true;
  return stopped_;
}

void Opener::descend() {
  std::vector<std::pair<Key, int>> firsts;
  const Loads& loads = prices_->fixed_loads();
  for (const int tile : table_->first_tiles()) {
    const Key bound = bound_of(prices_->fixed_pj(), loads, table_->after(0, 0, tile),
                               alone_ ? alone_->after(0, 0, tile) : 0, both_ ? both_->after(0, 0, tile) : 0);
    if (std::isfinite(bound[0]) && !drop(bound)) firsts.emplace_back(bound, tile);
  }
  std::sort(firsts.begin(), firsts.end());
  for (const auto& [bound, tile] : firsts) {
    if (drop(bound)) {
      ++bounded_;
      continue;
    }
    if (out_of_time()) return;
    begin(tile);
    open(1, 0, tile, prices_->fixed_pj(), loads);
  }
}

void Opener::open(int level, int state, int tile, double settled_pj, const Loads& loads) {
  if (level == problem_.levels) {
    Loads all = loads;
    const double energy_pj = settled_pj + close(state, all);
    const double active = prices_->active(all);
    if (goal_.too_slow(active)) return;
    return mappings_.offer(prices_->config(), chosen_, goal_.key(prices_->energy_pj(energy_pj, active), active));
  }
  std::vector<Child> children;
  const std::vector<Way>& ways = paths_in_use_->ways(level);
  for (std::size_t w = 0; w < ways.size() && !stopped_; ++w) {
    const Way& way = ways[w];
    if (!table_->usable(level, state, way) || !paths_in_use_->may_stay(level, way, tile)) continue;
    const int next = table_->next(level, state, way);
    way.each_move(*lattice_, tile, [&](const Move& move) {
      if (stopped_ || out_of_time()) return;
      const int named = tile + move.tile;
      const double charged = table_->charge(level, state, way, move, tile);
      const double rest = table_->after_rest(level, state, way, named);
      if (!std::isfinite(charged + rest)) return;
      const double both =
          both_ ? both_->charge(level, state, way, move, tile) + both_->after_rest(level, state, way, named) : 0;
      const double load =
          alone_ ? alone_->charge(level, state, way, move, tile) + alone_->after_rest(level, state, way, named) : 0;
      if (drop(bound_of(settled_pj, loads, charged + rest, load, both))) {
        ++bounded_;
        return;
      }
      each_rest(level, way, named, 0, [&](int to) {
        const double after = table_->after(level, next, to);
        if (!std::isfinite(after)) return;
        if (drop(bound_of(settled_pj, loads, charged + after, load, 0))) {
          ++bounded_;
          return;
        }
        Child child{{}, static_cast<int>(w), to, 0, loads};
        child.settled_pj = settled_pj + take(level, state, way, tile, to, child.loads);
        child.bound = bound_of(child.settled_pj, child.loads, after, alone_ ? alone_->after(level, next, to) : 0,
                               both_ ? both_->after(level, next, to) : 0);
        if (goal_.too_slow(prices_->active(child.loads)) || drop(child.bound)) {
          ++bounded_;
          return;
        }
        children.push_back(child);
      });
    });
  }
  std::stable_sort(children.begin(), children.end(), [](const Child& a, const Child& b) { return a.bound < b.bound; });
  for (Child& child : children) {
    if (stopped_) return;
    if (drop(child.bound)) {
      ++bounded_;
      continue;
    }
    Loads again{};
    const Way& way = ways[child.way];
    take(level, state, way, tile, child.tile, again);
    open(level + 1, table_->next(level, state, way), child.tile, child.settled_pj, child.loads);
  }
}

}  // namespace orrery::nest::tiles
