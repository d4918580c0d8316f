// The exact search where a dataspace's words depend on more than one dimension at a time: convolutions above all.
//
// A configuration fixes the spatial factors of every fan-out and what each storage keeps. Under it, what is left to
// choose are temporal factors and orders, and least energies over all of them come from one table (tile_table.cc),
// computed from the outermost level inwards over the lattice of tiles. The table's figures bound every mapping from
// below, and are attained but for slides that go on across levels and instances on a diagonal, which are bounded.
//
//   1. Configurations are listed with a bound that charges each boundary as if its tile crossed once, and visited in
//   the
//      order of that bound until it reaches the best answer known.
//   2. Each is bounded by the tiles that fit its storages (tile_bound.cc), then gets its table. What the best answer so
//   far
//      leaves to energy and cycles is the table's ceiling. The cheapest path through it is a mapping, evaluated by the
//      model: a new best, usually.
//   3. Where a port binds, a second table prices its load beside the energy (Lagrange; docs/model/nest.md, section 10),
//   and a
//      third has the load alone. If a port binds in the best answer, the second table comes first for all others.
//   4. Where the tables' bound is below the best answer, mappings are opened from the innermost level outwards, depth
//      first, cheapest bound first: paid so far + table for what is still to come, and the loads of ports so far.
// A mapping that costs more than its bound promised is tried with its loops in every order.
//
// Answers do not depend on threads: there is one. Cost: a table takes up to a millisecond for each thousand tiles.
#include "orrery/nest/tile_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <set>
#include <span>

#include "orrery/nest/floor.h"
#include "orrery/nest/objective.h"
#include "orrery/nest/start.h"
#include "orrery/nest/tile_bound.h"
#include "orrery/nest/tile_candidate.h"
#include "orrery/nest/tile_families.h"
#include "orrery/nest/tile_slides.h"
#include "orrery/nest/tile_table.h"

namespace orrery::nest {

namespace {

using base::Count;
using tiles::Boundaries;
using tiles::Config;
using tiles::Factors;
using tiles::Lattice;
using tiles::Loads;
using tiles::Move;
using tiles::Paths;
using tiles::Prices;
using tiles::Pricing;
using tiles::Problem;
using tiles::Step;
using tiles::Table;
using tiles::Way;

using tiles::Candidate;
using tiles::Chosen;
using tiles::Progress;

using namespace tiles::limits;

class Searcher {
 public:
  Searcher(const Problem& problem, const std::vector<Metric>& objective, const SearchRules& limits,
           const cost::Budget& budget, GapWatch& watch)
      : problem_(problem), objective_(objective), limits_(limits), budget_(budget), clock_(budget, 64), watch_(watch) {
    best_.fill(kNever);
    if (limits.beat) best_ = key_of(objective, *limits.beat), evaluation_ = *limits.beat;
    for (int level = 0; level < problem.levels; ++level)
      steps_.push_back(level == 0 ? std::vector<Step>{} : tiles::list_steps(problem, *problem.space, level));
  }

  Optimum run() {
    // What explicit networks add is not bounded well by a signature: such chips are listed.
    if (problem_.model->network_uses().empty() && configurations(problem_) > limits_.families_from)
      list_families();
    else
      list();
    if (!listed_all_) begin_quickly();
    // By bound; of equal ones, as listed. Bounds rise from one stage to the next.
    Queue queue;
    for (std::size_t k = 0; k < candidates_.size(); ++k) queue.emplace(candidates_[k].bound, k);
    if (families_) dive_into_families(queue);
    double open = kNever;  // least bound of what was not finished
    for (const std::size_t k : families_ ? std::vector<std::size_t>{} : promising()) {
      if (budget_.spent()) break;
      Candidate& candidate = candidates_[k];
      if (drop(candidate.bound)) continue;
      candidate.stage = search(candidate, kFirstNodes) ? Progress::kDone : Progress::kLast;
    }
    while (!queue.empty()) {
      const auto [bound, k] = queue.top();
      if (bound[0] > best_[0] * (1 + kEqual)) break;
      if (drop(bound)) {  // a tie; others of them may take fewer cycles
        queue.pop();
        continue;
      }
      if (budget_.spent()) {
        open = std::min(open, bound[0]);
        break;
      }
      queue.pop();
      Candidate& candidate = candidates_[k];
      if (candidate.stage == Progress::kDone) continue;
      if (bound < candidate.bound) {  // it has risen since
        queue.emplace(candidate.bound, k);
        continue;
      }
      report(bound[0]);
      bool finished = false;
      if (candidate.stage < Progress::kListed) {
        open_up(k, queue);
        continue;
      }
      if (candidate.stage == Progress::kListed)
        sharpen(candidate);
      else
        finished = search(candidate, candidate.stage == Progress::kSharpened ? kFirstNodes : 0);
      if (candidate.stage == Progress::kLast && !finished)
        open = std::min(open, candidate.bound[0]);
      else if (!finished && !drop(candidate.bound))
        queue.emplace(candidate.bound, k);
      else if (!finished)
        ++bounded_;
      if (candidate.stage != Progress::kLast) candidate.stage = static_cast<Progress>(static_cast<int>(candidate.stage) + 1);
    }
    open = std::min(open, left_out_);
    Optimum optimum;
    optimum.mapping = std::move(mapping_);
    optimum.evaluation = std::move(evaluation_);
    cost::Certificate& certificate = optimum.certificate;
    certificate.evaluated = evaluated_;
    certificate.pruned = {{"capacity", unfit_}, {"bound", bounded_}, {"dominance", 0}};
    const bool finished = complete_ && open == kNever && unresolved_ == kNever;
    certificate.optimal = finished && optimum.mapping;
    optimum.infeasible = finished && !optimum.mapping && listed_all_;
    const double least =
        listed_all_ ? std::min(open, unresolved_)
                    : std::max(floor_, floor_of(*problem_.model, *problem_.space, objective_[0]));
    certificate.lower_bound = std::min(best_[0], least);
    return optimum;
  }

 private:
  Key key(double energy_pj, double active) const { return key_of(objective_, energy_pj, active + problem_.latency); }

  bool drop(const Key& bound) const { return compare(bound, best_, objective_.size()) >= 0; }

  bool too_slow(double active) const {
    return limits_.max_cycles > 0 && active + problem_.latency > static_cast<double>(limits_.max_cycles) * (1 + kEqual);
  }

  void report(double bound) {
    if (watch_.watched()) watch_.report(best_[0], std::min(bound, best_[0]));
  }

  // Where a good mapping is likely: of each way to keep, those that keep most first, the configuration of least bound.
  std::vector<std::size_t> promising() const {
    std::map<std::vector<std::uint32_t>, std::size_t> least;
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      const auto [place, fresh] = least.try_emplace(candidates_[k].config.keep, k);
      if (!fresh && candidates_[k].bound < candidates_[place->second].bound) place->second = k;
    }
    std::vector<std::pair<int, std::size_t>> ranked;
    for (const auto& [keep, k] : least) {
      int kept = 0;
      for (const std::uint32_t mask : keep) kept += __builtin_popcount(mask);
      ranked.emplace_back(-kept, k);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::size_t> first;
    for (std::size_t n = 0; n < std::min(ranked.size(), kMostFirst); ++n) first.push_back(ranked[n].second);
    return first;
  }

  using Place = std::pair<Key, std::size_t>;
  using Queue = std::priority_queue<Place, std::vector<Place>, std::greater<>>;

  // A mapping to begin with.
  void begin_quickly() {
    const auto quick = start(*problem_.model, *problem_.space, objective_, limits_.max_cycles,
                             cost::Budget(budget_, budget_.seconds_left() / 4), kAnnealed);
    if (quick && compare(quick->key, best_, objective_.size()) < 0)
      best_ = quick->key, mapping_ = quick->mapping, evaluation_ = quick->evaluation;
  }

  Key key_of_least(const tiles::Least& least) const {
    const double active = problem_.whole_cycles ? std::ceil(least.active * (1 - kEqual)) : least.active;
    return key(least.energy_pj + least.leak_pj_per_cycle * active, active);
  }

  tiles::Wanted wanted() const {
    return {[this](const tiles::Least& least) {
              return std::isfinite(least.energy_pj) && !too_slow(least.active) && !drop(key_of_least(least));
            },
            [this](double leak, double energy_pj) { return most_active(leak, energy_pj); }};
  }

  // Every family, with a bound.
  void list_families() {
    begin_quickly();
    const cost::Budget part(budget_, budget_.seconds_left() * kForListing);
    families_.emplace(problem_, part);
    const tiles::Least floor = families_->floor();
    families_->list(most_active(0, floor.energy_pj));
    families_->each(wanted(), [&](const tiles::Families::Family& family, const tiles::Least& least) {
      candidates_.push_back({{family, {}}, key_of_least(least), Progress::kFamily});
    });
    listed_all_ = complete_ = families_->complete();
    floor_ = key_of_least(floor)[0];
  }

  // Good mappings of the first families: the cheapest configuration of the cheapest chain of each.
  void dive_into_families(const Queue& queue) {
    Queue rest = queue;
    for (std::size_t n = 0; n < kMostFirst && !rest.empty() && !budget_.spent(); ++n, rest.pop()) {
      const Candidate& family = candidates_[rest.top().second];
      if (drop(family.bound)) return;
      const tiles::Chain* cheapest = nullptr;
      const std::vector<tiles::Chain> chains = families_->chains(family.config.choice, wanted());
      for (const tiles::Chain& chain : chains)
        if (!cheapest || chain.least.energy_pj < cheapest->least.energy_pj) cheapest = &chain;
      if (!cheapest) continue;
      std::optional<Candidate> best;
      std::size_t looked_at = 0;
      families_->configs(family.config.choice, *cheapest, [&](const Config& config) {
        if (++looked_at > kMostLooks) return;
        Candidate candidate{config, family.bound, Progress::kListed};
        sharpen(candidate);
        if (!best || candidate.bound < best->bound) best = std::move(candidate);
      });
      if (best && !drop(best->bound)) search(*best, kFirstNodes);
    }
  }

  // What a family or a chain is made of takes its place in the queue.
  void open_up(std::size_t k, Queue& queue) {
    const Candidate parent = std::move(candidates_[k]);
    candidates_[k].stage = Progress::kDone;
    const auto add = [&](Candidate candidate) {
      if (candidates_.size() >= kMostConfigs) {
        left_out_ = std::min(left_out_, candidate.bound[0]);
        return;
      }
      candidate.bound = std::max(candidate.bound, parent.bound);
      queue.emplace(candidate.bound, candidates_.size());
      candidates_.push_back(std::move(candidate));
    };
    if (parent.stage == Progress::kFamily) {
      for (const tiles::Chain& chain : families_->chains(parent.config.choice, wanted()))
        add({{parent.config.choice, chain.keep}, key_of_least(chain.least), Progress::kChain});
    } else {
      families_->configs(parent.config.choice, {parent.config.keep, {}},
                         [&](const Config& config) { add({config, parent.bound, Progress::kListed}); });
    }
  }

  // Every configuration, with a bound.
  void list() {
    const cost::Budget part(budget_, budget_.seconds_left() * kForListing);
    cost::Ticker clock(part, 64);
    const auto enough = [&] {
      if (candidates_.size() >= kMostConfigs || clock.spent()) listed_all_ = complete_ = false;
      return !listed_all_;
    };
    Config config;
    config.choice.assign(problem_.levels, 0);
    config.keep.assign(problem_.levels, 0);
    std::vector<Count> left = problem_.bound;
    const std::function<void(int)> masks = [&](int level) {
      if (level < 0 ? enough() : !listed_all_) return;
      if (level < 0) return add(config);
      for (const std::uint32_t mask : problem_.space->keeps(level)) {
        config.keep[level] = mask;
        masks(level - 1);
      }
    };
    const std::function<void(int)> layouts = [&](int level) {
      if (!listed_all_) return;
      if (level < 0) return masks(problem_.levels - 1);
      const std::vector<Count> before = left;
      const std::vector<SpatialChoice>& choices = problem_.space->spatial(level);
      for (std::size_t k = 0; k < choices.size(); ++k) {
        bool divides = true;
        for (int d = 0; d < problem_.dimensions() && divides; ++d) {
          const Count factor = choices[k].factor[problem_.dimension[d]];
          divides = left[d] % factor == 0;
          left[d] /= factor;
        }
        config.choice[level] = static_cast<int>(k);
        if (divides) layouts(level - 1);
        left = before;
      }
    };
    layouts(problem_.levels - 1);
  }

  void add(const Config& config) {
    const Prices prices(problem_, config);
    if (!prices.possible()) return;
    double energy_pj = prices.fixed_pj();
    Loads loads = prices.fixed_loads();
    for (int a = 0; a < problem_.levels; ++a)
      for (int s = 0; s < problem_.spaces(); ++s)
        if ((config.keep[a] >> s & 1) && prices.parent(s, a) >= 0)
          energy_pj += prices.crossing(s, a, tiles::least_words(prices, s, a), &loads);
    const double active = prices.active(loads);
    if (too_slow(active)) return;
    candidates_.push_back({config, key(prices.energy_pj(energy_pj, active), active)});
  }

  // Cycles that any mapping is active at least: each boundary is crossed by each word once.
  double least_active(const Prices& prices) const {
    Loads loads = prices.fixed_loads();
    for (int a = 0; a < problem_.levels; ++a)
      for (int s = 0; s < problem_.spaces(); ++s)
        if ((prices.config().keep[a] >> s & 1) && prices.parent(s, a) >= 0)
          prices.crossing(s, a, tiles::least_words(prices, s, a), &loads);
    return prices.active(loads);
  }

  // What configurations with the same factors left share.
  const Paths& paths_of(const Prices& prices) {
    Factors left;
    left.fill(1);
    for (int d = 0; d < problem_.dimensions(); ++d) left[d] = prices.left(d);
    const auto place = paths_.find(left);
    if (place != paths_.end()) return *place->second;
    const double tiles = tiles_of(prices);
    if (path_tiles_ + tiles > kMostPathTiles) paths_.clear(), path_tiles_ = 0;
    path_tiles_ += tiles;
    return *paths_.emplace(left, std::make_unique<Paths>(problem_, steps_, left)).first->second;
  }

  // A better bound, by the tiles that fit each storage.
  void sharpen(Candidate& candidate) {
    const Prices prices(problem_, candidate.config);
    if (tiles_of(prices) > kMostTiles) return;
    const Lattice& lattice = paths_of(prices).lattice();
    const double active = least_active(prices);
    const double energy_pj = Boundaries(prices, lattice, {}).total();
    candidate.bound = std::max(candidate.bound, key(prices.energy_pj(energy_pj, active), active));
    if (binding_port_ < 0 || drop(candidate.bound)) return;
    const double both = Boundaries(prices, lattice, both_pricing(binding_port_)).total();
    candidate.bound = std::max(candidate.bound, least_key(prices, energy_pj, active, both, rate()));
  }

  // Energy of a cycle at the best answer.
  double rate() const { return evaluation_.energy_pj / evaluation_.needed_cycles(); }

  Pricing both_pricing(int port) const {
    Pricing pricing;
    pricing.price[port] = rate();
    return pricing;
  }

  // Of better mappings: how much energy they may take, leakage aside, if they are active for so many cycles at least.
  double most_energy_pj(const Prices& prices, double active) const {
    if (objective_[0] == Metric::kDelay || best_[0] == kNever) return kNever;
    const double most = objective_[0] == Metric::kEdp ? best_[0] * 1e12 / (active + problem_.latency) : best_[0];
    return at_the_edge(most - prices.leak_pj_per_cycle() * active);
  }

  // How many cycles, if they take so much energy at least.
  double most_active(const Prices& prices, double energy_pj) const {
    return most_active(prices.leak_pj_per_cycle(), energy_pj);
  }
  double most_active(double leak, double energy_pj) const {
    if (objective_[0] == Metric::kEnergy || best_[0] == kNever) return kNever;
    if (objective_[0] == Metric::kDelay) return at_the_edge(best_[0] - problem_.latency);
    // (energy + leak active) (active + latency) = best
    const double latency = problem_.latency;
    const double linear = energy_pj + leak * latency, constant = best_[0] * 1e12 - energy_pj * latency;
    if (constant <= 0) return 0;
    return at_the_edge(2 * constant / (linear + std::sqrt(linear * linear + 4 * leak * constant)));
  }

  // How much energy and load together. The most energy is convex in the cycles, so it is at one of their ends.
  double most_together(const Prices& prices, double energy_pj, double active) const {
    const double slow = std::max(active, most_active(prices, energy_pj));
    return std::max(most_energy_pj(prices, active) + rate() * active, most_energy_pj(prices, slow) + rate() * slow);
  }

  // Equal answers are of no use either, unless another metric decides between them.
  double at_the_edge(double most) const { return most * (objective_.size() == 1 ? 1 - kEqual / 2 : 1 + 4 * kEqual); }

  // Below what no pair of energy and active cycles can come, given at least so much of each, and of
  // energy + rate * cycles.
  Key least_key(const Prices& prices, double energy_pj, double active, double together, double rate) const {
    const Key alone = key(prices.energy_pj(energy_pj, active), active);
    if (rate <= 0 || objective_[0] != Metric::kEdp || rate < prices.leak_pj_per_cycle()) return alone;
    // Concave along the line, so least at one of its ends.
    const double slow = std::max(active, (together - energy_pj) / rate);
    const double dear = std::max(energy_pj, together - rate * active);
    Key bound = alone;
    bound[0] = std::max(alone[0], std::min(key(prices.energy_pj(energy_pj, slow), slow)[0],
                                           key(prices.energy_pj(dear, active), active)[0]));
    return bound;
  }

  // Whether the candidate can be given up after its bound has risen.
  bool raise(Candidate& candidate, const Key& bound) {
    candidate.bound = std::max(candidate.bound, bound);
    if (!drop(candidate.bound)) return false;
    ++bounded_;
    return true;
  }

  // One configuration. False: not finished; its bound is what was found out. `most`: nodes; 0: any number.
  bool search(Candidate& candidate, std::uint64_t most) {
    const Prices prices(problem_, candidate.config);
    if (tiles_of(prices) * problem_.levels * kBytesOfATile > std::min(kMostBytes, budget_.room())) return false;
    const Paths& paths = paths_of(prices);
    const Lattice& lattice = paths.lattice();
    double active = least_active(prices);
    const auto at_least = [&](double energy_pj) { return key(prices.energy_pj(energy_pj, active), active); };
    const Boundaries dear(prices, lattice, {});
    double energy_pj = dear.total();
    if (!std::isfinite(energy_pj)) {
      ++unfit_;
      return true;
    }
    if (raise(candidate, at_least(energy_pj))) return true;
    prices_ = &prices;
    paths_in_use_ = &paths;
    lattice_ = &lattice;
    table_ = alone_ = both_ = nullptr;
    rate_ = 0;
    price_.fill(0);
    chosen_.assign(problem_.levels, {});

    // Energy and load together, of one port. False: nothing more to be done.
    std::optional<Boundaries> beside;
    std::optional<Table> together;
    const auto add_together = [&](int port) {
      port_ = port;
      rate_ = rate();
      price_.fill(0);
      price_[port] = rate_;
      beside.emplace(prices, lattice, both_pricing(port));
      together.emplace(prices, paths, *beside, both_pricing(port), most_together(prices, energy_pj, active), budget_);
      both_ = &*together;
      if (!together->complete()) return false;
      return !raise(candidate, least_key(prices, energy_pj, active, together->least(), rate_));
    };
    // Where a port binds in the best answer, it probably does here.
    if (binding_port_ >= 0 && !add_together(binding_port_)) return together->complete();
    // The better the answer, the fewer tiles a table has. So while the best answer leaves room for far more than is
    // needed at least, the table is made for a little more than that, and again if that was too little.
    const Key before = best_;
    Loads loads = prices.fixed_loads(), others = loads;
    std::optional<Table> of_energy;
    for (double trial = objective_[0] == Metric::kDelay ? kNever : energy_pj * kFirstTrial;; trial *= kNextTrial) {
      const double most_pj = most_energy_pj(prices, active), ceiling = trial * kFirstTrial < most_pj ? trial : most_pj;
      of_energy.emplace(prices, paths, dear, Pricing{}, ceiling, budget_);
      if (!of_energy->complete()) return false;
      if (!std::isfinite(of_energy->least()) || (of_energy->first_tiles().empty() && !of_energy->left_out())) {
        ++unfit_;
        return true;
      }
      energy_pj = std::max(energy_pj, of_energy->least());
      if (raise(candidate, at_least(energy_pj))) return true;
      table_ = &*of_energy;
      if (of_energy->least() < ceiling) dive(*of_energy, loads);
      if (raise(candidate, at_least(energy_pj))) return true;
      if (ceiling >= most_energy_pj(prices, active)) break;
      if (of_energy->least() < ceiling) trial = kNever;
    }
    if (both_) dive(*both_, others);
    // The port that the cheapest mapping loads most: how little any mapping can load it, and energy and load together.
    int port = -1;
    if (objective_[0] != Metric::kEnergy && prices.active(loads) > active * (1 + kEqual))
      port = static_cast<int>(std::max_element(loads.begin(), loads.begin() + prices.ports()) - loads.begin());
    if (best_[0] < before[0] && objective_[0] == Metric::kEdp) binding_port_ = port;
    if (raise(candidate, candidate.bound)) return true;
    std::optional<Boundaries> idle;
    std::optional<Table> alone;
    if (port >= 0) {
      Pricing load;
      load.price[port] = 1;
      load.loads_only = true;
      idle.emplace(prices, lattice, load);
      alone.emplace(prices, paths, *idle, load, most_active(prices, energy_pj), budget_);
      if (!alone->complete()) return false;
      Loads least = prices.fixed_loads();
      least[port] = std::max(least[port], alone->least());
      active = std::max(active, prices.active(least));
      if (raise(candidate, at_least(energy_pj))) return true;
      dive(*alone, others);
      alone_ = &*alone;
      if (objective_[0] == Metric::kEdp && evaluation_.needed_cycles() > 0) {
        if (port != port_ || !both_ || rate_ > rate() * kNearby || rate_ < rate() / kNearby) {
          if (!add_together(port)) return together->complete();
          dive(*both_, others);
        } else if (raise(candidate, least_key(prices, energy_pj, active, both_->least(), rate_))) {
          return true;
        }
      }
      port_ = port;
    }
    if (raise(candidate, candidate.bound)) return true;
    permuted_.clear();
    nodes_ = 0;
    most_nodes_ = most;
    stopped_ = false;
    descend();
    return !stopped_;
  }

  // Follows the least path of `table` and evaluates it; `loads`: of its ports.
  void dive(const Table& table, Loads& loads) {
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
    leaf(prices_->active(loads), Key{});
  }

  // The best of the other loops of a way.
  int finish_rest(const Table& table, int level, int next, const Way& way, int from) const {
    int best = -1;
    double least = kNever;
    each_rest(level, way, from, 0, [&](int tile) {
      const double cost = table.after(level, next, tile);
      if (cost < least || best < 0) least = cost, best = tile;
    });
    return best;
  }

  template <typename Use>
  void each_rest(int level, const Way& way, int tile, int d, const Use& use) const {
    while (d < problem_.dimensions() && !(way.rest >> d & 1)) ++d;
    if (d == problem_.dimensions()) return use(tile);
    const int u = lattice_->coordinate(tile, d);
    for (const int v : paths_in_use_->reachable(level, d, u))
      each_rest(level, way, tile + (v - u) * lattice_->stride(d), d + 1, use);
  }

  void begin(int tile) {
    chosen_[0].step = nullptr;
    chosen_[0].continuing = 0;
    for (int d = 0; d < problem_.dimensions(); ++d) chosen_[0].loops[d] = lattice_->extent(tile, d);
  }

  Factors extents(int tile) const {
    Factors inside;
    inside.fill(1);
    for (int d = 0; d < problem_.dimensions(); ++d) inside[d] = lattice_->extent(tile, d);
    return inside;
  }

  // Chooses the loops of `level` and adds what they load. Returns the energy that they settle.
  double take(int level, int state, const Way& way, int tile, int to, Loads& loads) {
    const Factors inside = extents(tile);
    Chosen& chosen = chosen_[level];
    const tiles::Open& open = table_->states(level - 1)[state];
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
  double correct_slides(int level, Loads& loads) const {
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
  double close(int state, Loads& loads) {
    Step nothing;
    nothing.first.fill(-1), nothing.second.fill(-1);
    Factors once;
    once.fill(1);
    const Factors whole = extents(lattice_->top());
    double energy_pj = 0;
    const tiles::Open& open = table_->states(problem_.levels - 1)[state];
    for (int s = 0; s < problem_.spaces(); ++s)
      for (int a = open[s]; a >= 0 && a < problem_.levels; ++a)
        if ((prices_->config().keep[a] >> s & 1) && prices_->parent(s, a) >= 0)
          energy_pj += prices_->crossing(
              s, a, words_crossing(*prices_, s, a, problem_.levels - 1, whole, nothing, once), &loads);
    return energy_pj;
  }

  double priced(double energy_pj, const Loads& loads) const {
    for (int p = 0; p < prices_->ports(); ++p) energy_pj += price_[p] * loads[p];
    return energy_pj;
  }

  // `load_to_come`: of the port that binds.
  Key bound_of(double settled_pj, const Loads& loads, double to_come, double load_to_come, double both_to_come) const {
    double active = prices_->active(loads);
    if (alone_) active = std::max(active, prices_->whole(loads[port_] + load_to_come));
    const double energy_pj = settled_pj + to_come;
    const double together = both_ ? priced(settled_pj, loads) + both_to_come : 0;
    return least_key(*prices_, energy_pj, active, together, both_ ? rate_ : 0);
  }

  bool out_of_time() {
    ++nodes_;
    if (!stopped_ && ((most_nodes_ > 0 && nodes_ > most_nodes_) || clock_.spent())) stopped_ = true;
    return stopped_;
  }

  void descend() {
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

  struct Child {
    Key bound;
    int way = 0, tile = 0;
    double settled_pj = 0;
    Loads loads;
  };

  void open(int level, int state, int tile, double settled_pj, const Loads& loads) {
    if (level == problem_.levels) {
      Loads all = loads;
      const double energy_pj = settled_pj + close(state, all);
      const double active = prices_->active(all);
      if (too_slow(active)) return;
      return leaf(active, key(prices_->energy_pj(energy_pj, active), active));
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
          if (too_slow(prices_->active(child.loads)) || drop(child.bound)) {
            ++bounded_;
            return;
          }
          children.push_back(child);
        });
      });
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return a.bound < b.bound; });
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

  // The mapping that chosen_ describes. `promised`: its bound, or zeros where that does not matter.
  void leaf(double active, const Key& promised) {
    ++evaluated_;
    if (too_slow(active)) return;
    Mapping mapping;
    std::vector<std::vector<int>> named, others;  // loops from the inside
    for (int level = 0; level < problem_.levels; ++level) {
      const Chosen& chosen = chosen_[level];
      std::vector<int>& order = named.emplace_back();
      std::vector<int>& rest = others.emplace_back();
      std::uint32_t placed = 0;
      if (chosen.step)
        for (const int d : chosen.step->order)
          if (chosen.loops[d] > 1) order.push_back(problem_.dimension[d]), placed |= 1u << d;
      for (int d = 0; d < problem_.dimensions(); ++d)
        if (chosen.loops[d] > 1 && !(placed >> d & 1)) rest.push_back(problem_.dimension[d]);
      mapping.levels.push_back(realise(level, chosen));
      set_order(level, mapping.levels.back(), order, rest);
    }
    const Key found = take_if_better(mapping);
    if (promised[0] == 0 || compare(found, promised, 1) <= 0) return;
    if (drop(promised)) return;
    // Something was bounded rather than known: what the order of loops changes may make up for it.
    for (int level = 0; level < problem_.levels; ++level) {
      others[level].insert(others[level].end(), named[level].begin(), named[level].end());
      named[level].clear();
    }
    // A mapping is found once for each way in which a slide may go on; its orders are the same each time.
    std::vector<Count> factors;
    for (const Chosen& chosen : chosen_)
      factors.insert(factors.end(), chosen.loops.begin(), chosen.loops.begin() + problem_.dimensions());
    if (permuted_.contains(factors)) return;
    int left = kMostOrders;
    if (permute(mapping, named, others, 0, left))
      permuted_.insert(std::move(factors));
    else if (!stopped_)
      unresolved_ = std::min(unresolved_, promised[0]);
  }

  bool permute(Mapping& mapping, const std::vector<std::vector<int>>& named, std::vector<std::vector<int>>& others,
               int level, int& left) {
    if (level == problem_.levels) {
      if (--left < 0 || out_of_time()) return false;
      take_if_better(mapping);
      return true;
    }
    if (level == 0) return permute(mapping, named, others, 1, left);
    std::sort(others[level].begin(), others[level].end());
    do {
      set_order(level, mapping.levels[level], named[level], others[level]);
      if (!permute(mapping, named, others, level + 1, left)) return false;
    } while (std::next_permutation(others[level].begin(), others[level].end()));
    return true;
  }

  void set_order(int level, LevelMapping& mapping, const std::vector<int>& named, const std::vector<int>& rest) const {
    std::vector<int> iterating = named;
    iterating.insert(iterating.end(), rest.begin(), rest.end());
    mapping.temporal_order = problem_.space->full_temporal_order(level, iterating);
  }

  LevelMapping realise(int level, const Chosen& chosen) const {
    LevelMapping mapping;
    const std::size_t all = problem_.model->einsum().dimensions.size();
    mapping.temporal.assign(all, 1);
    mapping.spatial.assign(all, 1);
    const SpatialChoice& choice = problem_.space->spatial(level)[prices_->config().choice[level]];
    std::uint32_t spread = 0;
    for (int d = 0; d < problem_.dimensions(); ++d) {
      const int original = problem_.dimension[d];
      mapping.temporal[original] = chosen.loops[d];
      mapping.spatial[original] = choice.factor[original];
      if (choice.factor[original] > 1) spread |= 1u << original;
    }
    std::tie(mapping.spatial_order, mapping.split) = problem_.space->full_spatial_order(level, spread, choice.to_x);
    mapping.keep = prices_->config().keep[level];
    return mapping;
  }

  Key take_if_better(const Mapping& mapping) {
    problem_.model->evaluate(mapping, next_);
    const Key found = key_of(objective_, next_);
    if (limits_.max_cycles > 0 && (next_.beyond_cycles > 0 || next_.cycles > limits_.max_cycles)) return found;
    if (compare(found, best_, objective_.size()) < 0) {
      best_ = found;
      mapping_ = mapping;
      std::swap(evaluation_, next_);
    }
    return found;
  }

  const Problem& problem_;
  const std::vector<Metric>& objective_;
  const SearchRules& limits_;
  const cost::Budget& budget_;
  cost::Ticker clock_;
  GapWatch& watch_;
  std::vector<std::vector<Step>> steps_;
  std::vector<Candidate> candidates_;
  bool listed_all_ = true, complete_ = true;
  std::optional<tiles::Families> families_;
  double floor_ = 0;          // no mapping is below it, whatever was listed
  double left_out_ = kNever;  // least bound of candidates that there was no room for
  std::map<Factors, std::unique_ptr<const Paths>> paths_;  // by what is left
  double path_tiles_ = 0;
  int binding_port_ = -1;  // of the best answer, or none

  // Of the configuration that is searched.
  const Prices* prices_ = nullptr;
  const Paths* paths_in_use_ = nullptr;
  const Lattice* lattice_ = nullptr;
  const Table* table_ = nullptr;
  // Of the port that binds: its load, energy and load together.
  int port_ = 0;
  const Table* alone_ = nullptr;
  const Table* both_ = nullptr;
  double rate_ = 0;
  Loads price_{};
  std::vector<Chosen> chosen_;
  std::set<std::vector<Count>> permuted_;  // factors whose loops were tried in every order
  std::uint64_t nodes_ = 0, most_nodes_ = 0;
  bool stopped_ = false;

  Key best_;
  std::optional<Mapping> mapping_;
  Evaluation evaluation_, next_;
  double unresolved_ = kNever;  // least bound of mappings that were not tried in every order
  std::uint64_t evaluated_ = 0, bounded_ = 0, unfit_ = 0;
};

}  // namespace

std::optional<Optimum> optimize_on_tiles(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                         const SearchRules& limits, const cost::Budget& budget, GapWatch& watch) {
  const std::optional<Problem> problem = tiles::describe(model, space);
  if (!problem) return std::nullopt;
  return Searcher(*problem, objective, limits, budget, watch).run();
}

}  // namespace orrery::nest
