// The lattice search: layouts x keepers, cheapest bound first; inside, a table instead of an enumeration.
//
// Once the fan-outs (a layout) and the keepers of each dataspace are fixed, dataspace s crosses the boundary
// between its keepers a < b once every t_a(d) * run iterations of d, the one dimension it is blind to. So
//     E = E0 + sum_s sum_boundaries price_s(t_a(d) * run_a(s))
// with E0 the computes and what the compute units read. Bounds, each dropping a candidate at the incumbent:
//     1 separable   every dataspace alone with t * run at its largest: chain prices per dataspace, sorted,
//                   so that combinations are never listed beyond the incumbent
//     2 capacity    each level alone with the cheapest tile that fits it
//     3 exact       the least energy from the lattice table (lattice_table.h) with the ports' least loads
// The cheapest path through the table is a mapping; where its cycles meet their bound it is the optimum of
// its candidate, the usual case. Otherwise labels (tile, energy, loads) are extended best first, each with
// the table as its exact energy still to come; a label is dominated by one at the same tile that has paid
// and loaded no more.
//
// Every mapping found is evaluated by Model::evaluate, which alone decides. Order of candidates and ties are
// fixed, so the answer is, too.
#include "orrery/nest/lattice.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <queue>

#include "orrery/nest/lattice_capacity.h"
#include "orrery/nest/lattice_table.h"
#include "orrery/nest/objective.h"

namespace orrery::nest {

using base::Count;
using namespace lattice;

namespace {

// Labels of one candidate beyond which the branch and bound of search.cc takes over.
constexpr std::size_t kMostLabels = 500'000;

struct Chain {
  std::uint32_t keepers = 0;
  double energy_pj = 0;  // with t * run at its largest throughout
  Loads loads;           // the same
};

struct Candidate {
  Triple<int> chain;
  double energy_pj = 0;
};

class LatticeSearch {
 public:
  LatticeSearch(const Problem& problem, const std::vector<Metric>& objective, const SearchLimits& limits,
                GapWatch* watch)
      : problem_(problem),
        objective_(objective),
        limits_(limits),
        watch_(watch),
        start_(std::chrono::steady_clock::now()) {
    best_.fill(kNever);
  }

  // False when labels ran out of room: the answer is not proven.
  bool run(Optimum& optimum) {
    const std::vector<Layout> all = layouts(problem_);
    std::vector<std::pair<Key, std::size_t>> order;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Prices prices(problem_, all[k]);
      double energy_pj = problem_.compute_pj;
      for (int s = 0; s < kSpaces; ++s) energy_pj += least_chain_pj(prices, s);
      if (energy_pj < kNever) order.emplace_back(key(prices, energy_pj, prices.layout().cycles), k);
    }
    std::sort(order.begin(), order.end());
    for (std::size_t at = 0; at < order.size(); ++at) {
      lower_bound_ = order[at].first[0];
      if (drop(order[at].first)) {
        ++bounded_;
        continue;
      }
      const Prices prices(problem_, all[order[at].second]);
      if (!search_layout(prices, {list_chains(prices, 0), list_chains(prices, 1), list_chains(prices, 2)})) break;
    }
    cost::Certificate& certificate = optimum.certificate;
    certificate.evaluated = evaluated_;
    certificate.pruned = {{"capacity", unfit_}, {"bound", bounded_}, {"dominance", dominated_}};
    optimum.interrupted = interrupted_;
    optimum.mapping = std::move(mapping_);
    optimum.evaluation = std::move(evaluation_);
    certificate.optimal = !stopped_ && !full_ && optimum.mapping;
    certificate.lower_bound = stopped_ || full_ ? std::min(lower_bound_, best_[0]) : best_[0];
    return !full_;
  }
  bool stopped() const { return stopped_; }

 private:
  // The metrics of so much energy in so many cycles; beyond every other where that takes too long.
  Key key(const Prices& prices, double energy_pj, double active) const {
    if (limits_.max_cycles > 0 && active + problem_.latency > static_cast<double>(limits_.max_cycles) * (1 + kEqual))
      return {kNever, kNever, kNever};
    const double energy = energy_pj + active * prices.leak_pj_per_cycle();
    const double cycles = active + problem_.latency;
    return key_of(objective_, energy, cycles);
  }

  bool drop(const Key& bound) const { return compare(bound, best_, objective_.size()) >= 0; }

  bool out_of_time() {
    if ((++ticks_ & 63) == 0) {
      if (limits_.stop && limits_.stop->load()) stopped_ = interrupted_ = true;
      if (limits_.seconds > 0 &&
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() >= limits_.seconds)
        stopped_ = true;
      if (watch_ && watch_->watched()) watch_->report(best_[0], std::min(lower_bound_, best_[0]));
    }
    return stopped_;
  }

  Loads sum(const Loads& a, const Loads& b) const {
    Loads both = a;
    for (int port = 0; port < problem_.ports; ++port) {
      both.reads[port] += b.reads[port];
      both.writes[port] += b.writes[port];
    }
    return both;
  }

  // Levels that must, and those that may, keep dataspace s.
  std::pair<std::uint32_t, std::uint32_t> keeping(int s) const {
    std::uint32_t must = 0, may = 0;
    for (std::size_t a = 0; a < problem_.levels.size(); ++a) {
      must |= (problem_.levels[a].must_keep >> s & 1) << a;
      may |= (problem_.levels[a].may_keep >> s & 1) << a;
    }
    return {must, may};
  }

  // The energy of the first of list_chains, without listing them: a shortest path over the levels.
  double least_chain_pj(const Prices& prices, int s) const {
    const auto [must, may] = keeping(s);
    const Count most = prices.layout().left[problem_.blind[s]];
    const int levels = static_cast<int>(problem_.levels.size());
    std::vector<double> least_pj(levels, kNever);
    double ended_pj = kNever;
    for (int b = 0; b < levels; ++b) {
      if (!(may >> b & 1)) continue;
      if ((must & ((1u << b) - 1)) == 0) least_pj[b] = prices.innermost_pj(s, b);
      for (int a = b - 1; a >= 0; --a) {
        if (least_pj[a] < kNever) least_pj[b] = std::min(least_pj[b], least_pj[a] + prices.boundary_pj(s, a, b, most));
        if (must >> a & 1) break;
      }
      if (must >> b <= 1) ended_pj = std::min(ended_pj, least_pj[b]);
    }
    return ended_pj;
  }

  std::vector<Chain> list_chains(const Prices& prices, int s) const {
    const auto [must, may] = keeping(s);
    const Count most = prices.layout().left[problem_.blind[s]];
    std::vector<Chain> chains;
    for (std::uint32_t mask = may;; mask = (mask - 1) & may) {
      if ((mask & must) == must && mask != 0) {
        int a = __builtin_ctz(mask);
        Chain chain{mask, prices.innermost_pj(s, a), {}};
        prices.add_innermost(s, a, chain.loads);
        for (std::uint32_t rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
          const int b = __builtin_ctz(rest);
          chain.energy_pj += prices.boundary_pj(s, a, b, most);
          prices.add_boundary(s, a, b, most, chain.loads);
          a = b;
        }
        chains.push_back(chain);
      }
      if (mask == 0) break;
    }
    std::stable_sort(chains.begin(), chains.end(),
                     [](const Chain& a, const Chain& b) { return a.energy_pj < b.energy_pj; });
    return chains;
  }

  // False when the search must end.
  bool search_layout(const Prices& prices, const Triple<std::vector<Chain>>& chains) {
    const double cycles = prices.layout().cycles;
    CapacityBound capacity(problem_, prices);
    // The cheapest combination first, alone: it often is the optimum and makes the list short.
    std::vector<Candidate> candidates{
        {{0, 0, 0}, chains[0][0].energy_pj + chains[1][0].energy_pj + chains[2][0].energy_pj}};
    candidates[0].energy_pj = std::max(candidates[0].energy_pj, fitting_pj(chains, candidates[0], capacity));
    if (drop(key(prices, problem_.compute_pj + candidates[0].energy_pj, cycles)))
      ++bounded_;
    else if (!search_candidate(prices, chains, candidates[0]))
      return false;
    candidates.clear();
    for (int x = 0; x < static_cast<int>(chains[0].size()); ++x) {
      const double first = chains[0][x].energy_pj;
      if (drop(key(prices, problem_.compute_pj + first + chains[1][0].energy_pj + chains[2][0].energy_pj, cycles)))
        break;
      for (int y = 0; y < static_cast<int>(chains[1].size()); ++y) {
        const double second = first + chains[1][y].energy_pj;
        if (drop(key(prices, problem_.compute_pj + second + chains[2][0].energy_pj, cycles))) break;
        const Loads loads = sum(chains[0][x].loads, chains[1][y].loads);
        for (int z = 0; z < static_cast<int>(chains[2].size()); ++z) {
          const double energy_pj = second + chains[2][z].energy_pj;
          if (drop(key(prices, problem_.compute_pj + energy_pj, cycles))) break;
          if (x + y + z == 0) continue;
          const double least_cycles = prices.cycles(sum(loads, chains[2][z].loads));
          if (drop(key(prices, problem_.compute_pj + energy_pj, least_cycles))) {
            ++bounded_;
            continue;
          }
          Candidate candidate{{x, y, z}, energy_pj};
          candidate.energy_pj = std::max(energy_pj, fitting_pj(chains, candidate, capacity));
          if (drop(key(prices, problem_.compute_pj + candidate.energy_pj, least_cycles)))
            ++bounded_;
          else
            candidates.push_back(candidate);
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.energy_pj < b.energy_pj; });
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (drop(key(prices, problem_.compute_pj + candidates[k].energy_pj, cycles))) {
        bounded_ += candidates.size() - k;
        break;
      }
      if (!search_candidate(prices, chains, candidates[k])) return false;
    }
    return true;
  }

  static Keepers keepers_of(const Triple<std::vector<Chain>>& chains, const Candidate& candidate) {
    Keepers keepers;
    for (int s = 0; s < kSpaces; ++s) keepers[s] = chains[s][candidate.chain[s]].keepers;
    return keepers;
  }

  // Bound 2: energy of a candidate, computes apart.
  static double fitting_pj(const Triple<std::vector<Chain>>& chains, const Candidate& candidate,
                           CapacityBound& capacity) {
    const Keepers keepers = keepers_of(chains, candidate);
    double energy_pj = capacity.energy_pj(keepers);
    for (int s = 0; s < kSpaces; ++s) energy_pj += capacity.innermost_pj(s, keepers[s]);
    return energy_pj * (1 - kEqual);
  }

  bool search_candidate(const Prices& prices, const Triple<std::vector<Chain>>& chains, const Candidate& candidate) {
    if (out_of_time()) return false;
    const Keepers keepers = keepers_of(chains, candidate);
    Loads innermost;
    double base_pj = problem_.compute_pj;
    for (int s = 0; s < kSpaces; ++s) {
      const int a = __builtin_ctz(keepers[s]);
      base_pj += prices.innermost_pj(s, a);
      prices.add_innermost(s, a, innermost);
    }
    const Loads least = sum(sum(chains[0][candidate.chain[0]].loads, chains[1][candidate.chain[1]].loads),
                            chains[2][candidate.chain[2]].loads);
    const double least_cycles = prices.cycles(least);
    if (drop(key(prices, problem_.compute_pj + candidate.energy_pj, least_cycles))) {
      ++bounded_;
      return true;
    }
    const Table table(problem_, prices, keepers);
    double least_pj = kNever;
    int start = -1;
    for (const int p : table.starts())
      if (table.least_pj(0, p) < least_pj) least_pj = table.least_pj(0, p), start = p;
    if (start < 0) {
      ++unfit_;
      return true;
    }
    const Key bound = key(prices, base_pj + least_pj, least_cycles);
    if (drop(bound)) {
      ++bounded_;
      return true;
    }
    std::vector<Table::Step> path{{0, -1, start}};
    while (path.back().level < static_cast<int>(problem_.levels.size()))
      path.push_back(table.cheapest(path.back().level, path.back().point));
    path.pop_back();
    const Key found = leaf(prices, table, keepers, path);
    if (compare(found, bound, objective_.size()) <= 0) return true;
    return extend_labels(prices, table, keepers, base_pj, innermost, least_cycles);
  }

  struct Label {
    Table::Step step;  // the last iterating level, its innermost loop, the tile after it
    double energy_pj = 0;
    Loads loads;
    std::int32_t parent = -1;
    bool closed = false;
  };

  bool extend_labels(const Prices& prices, const Table& table, const Keepers& keepers, double base_pj,
                     const Loads& innermost, double least_cycles) {
    const int levels = static_cast<int>(problem_.levels.size());
    std::vector<Label> labels;
    using Entry = std::pair<Key, std::int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::vector<std::vector<std::int32_t>> seen(static_cast<std::size_t>(levels) * table.points());
    // What the boundaries not yet closed load at least, by the level from which they are open.
    std::vector<Loads> rest(levels + 1);
    for (int a = levels - 1; a >= 0; --a) {
      rest[a] = rest[a + 1];
      for (int s = 0; s < kSpaces; ++s) {
        const std::uint32_t outer = keepers[s] >> (a + 1);
        if ((keepers[s] >> a & 1) && outer != 0)
          prices.add_boundary(s, a, a + 1 + __builtin_ctz(outer), prices.layout().left[problem_.blind[s]], rest[a]);
      }
    }
    const auto cycles_of = [&](const Loads& loads, int open_from) {
      return std::max(least_cycles, prices.cycles(sum(loads, rest[open_from])) * (1 - kEqual));
    };
    const auto push = [&](Label label, double to_come_pj) {
      const Key bound = key(prices, label.energy_pj + to_come_pj,
                            label.closed ? prices.cycles(label.loads) : cycles_of(label.loads, label.step.level));
      if (drop(bound)) {
        ++bounded_;
        return;
      }
      if (!label.closed) {
        std::vector<std::int32_t>& here =
            seen[static_cast<std::size_t>(label.step.level) * table.points() + label.step.point];
        for (const std::int32_t other : here)
          if (no_worse(labels[other], label)) {
            ++dominated_;
            return;
          }
        here.push_back(static_cast<std::int32_t>(labels.size()));
      }
      open.emplace(bound, static_cast<std::int32_t>(labels.size()));
      labels.push_back(label);
    };
    for (const int p : table.starts())
      if (table.least_pj(0, p) < kNever) push({{0, -1, p}, base_pj, innermost, -1, false}, table.least_pj(0, p));
    while (!open.empty()) {
      if (out_of_time()) return false;
      if (labels.size() > kMostLabels) {
        full_ = true;
        return false;
      }
      const auto [bound, at] = open.top();
      open.pop();
      if (drop(bound)) break;
      const Label label = labels[at];
      if (label.closed) {
        std::vector<Table::Step> path;
        for (std::int32_t k = label.parent; k >= 0; k = labels[k].parent) path.push_back(labels[k].step);
        std::reverse(path.begin(), path.end());
        leaf(prices, table, keepers, path);
        continue;
      }
      const int i = label.step.level, p = label.step.point;
      const Triple<int> index = table.at(p);
      int j = i + 1;
      for (; j < levels; ++j) {
        for (int c = 0; c < kDims; ++c) {
          if (!problem_.levels[j].free[c]) continue;
          const int blind = problem_.dataspace[c];
          for (const int m : table.axis(c).multiples[index[c]]) {
            const int inner = p + (m - index[c]) * table.stride(c);
            const double above = table.least_above_pj(j, c, inner);
            if (above == kNever) continue;
            Label next{{j, c, inner}, label.energy_pj, label.loads, at, false};
            for (int s = 0; s < kSpaces; ++s) {
              const int reuse = s == blind ? m : index[problem_.blind[s]];
              next.energy_pj += table.close_pj(s, i, j, reuse);
              table.close_loads(s, i, j, reuse, next.loads);
            }
            if (drop(key(prices, next.energy_pj + above, cycles_of(next.loads, j)))) {
              ++bounded_;
              continue;
            }
            extend_others(table, j, c, 0, inner, next, push);
          }
        }
        if (!table.fits(j, p)) break;
      }
      if (p == table.full() && j == levels) {
        Label done{label.step, label.energy_pj, label.loads, at, true};
        for (int s = 0; s < kSpaces; ++s) {
          done.energy_pj += table.close_pj(s, i, levels, index[problem_.blind[s]]);
          table.close_loads(s, i, levels, index[problem_.blind[s]], done.loads);
        }
        push(done, 0);
      }
    }
    return true;
  }

  // The other dimensions of level j take any of their multiples.
  template <typename Push>
  void extend_others(const Table& table, int j, int c, int d, int point, Label& next, const Push& push) {
    if (d == kDims) {
      const double to_come_pj = table.least_pj(j, point);
      if (to_come_pj == kNever) return;
      Label label = next;
      label.step.point = point;
      push(label, to_come_pj);
      return;
    }
    extend_others(table, j, c, d + 1, point, next, push);
    if (d == c || !problem_.levels[j].free[d]) return;
    const int index = table.at(point)[d];
    for (const int m : table.axis(d).multiples[index])
      extend_others(table, j, c, d + 1, point + (m - index) * table.stride(d), next, push);
  }

  bool no_worse(const Label& a, const Label& b) const {
    if (a.energy_pj > b.energy_pj) return false;
    for (int port = 0; port < problem_.ports; ++port)
      if (a.loads.reads[port] > b.loads.reads[port] || a.loads.writes[port] > b.loads.writes[port]) return false;
    return true;
  }

  // Evaluates the mapping of a path: the tile at level 0, then each iterating level with its innermost loop.
  Key leaf(const Prices& prices, const Table& table, const Keepers& keepers, const std::vector<Table::Step>& path) {
    ++evaluated_;
    const workload::Einsum& einsum = problem_.model->einsum();
    const Space& space = *problem_.space;
    const std::size_t all = einsum.dimensions.size();
    Mapping mapping;
    mapping.levels.resize(space.levels());
    for (int i = 0; i < space.levels(); ++i) {
      LevelMapping& level = mapping.levels[i];
      const SpatialChoice& spread = space.spatial(i)[prices.layout().choice[i]];
      level.temporal.assign(all, 1);
      level.spatial.assign(spread.factor.begin(), spread.factor.begin() + static_cast<std::ptrdiff_t>(all));
      std::uint32_t iterating = 0;
      for (std::size_t d = 0; d < all; ++d)
        if (level.spatial[d] > 1) iterating |= 1u << d;
      std::tie(level.spatial_order, level.split) = space.full_spatial_order(i, iterating, spread.to_x);
      level.temporal_order = space.full_temporal_order(i, {});
      const int a = problem_.label_of(i);
      for (int s = 0; s < kSpaces; ++s)
        if (a >= 0 && (keepers[s] >> a & 1)) level.keep |= 1u << s;
    }
    Triple<Count> before{1, 1, 1};
    for (const Table::Step& step : path) {
      const int storage = problem_.levels[step.level].storage;
      const Triple<Count> after = table.values(step.point);
      std::vector<int> iterating;
      if (step.innermost >= 0) iterating.push_back(problem_.dimension[step.innermost]);
      for (int d = 0; d < kDims; ++d) {
        if (problem_.dimension[d] < 0) continue;
        mapping.levels[storage].temporal[problem_.dimension[d]] = after[d] / before[d];
        if (d != step.innermost && after[d] != before[d]) iterating.push_back(problem_.dimension[d]);
      }
      mapping.levels[storage].temporal_order = space.full_temporal_order(storage, iterating);
      before = after;
    }
    Evaluation evaluation = problem_.model->evaluate(mapping);
    const Key found = key_of(objective_, evaluation);
    if (limits_.max_cycles > 0 && evaluation.cycles > limits_.max_cycles) return {kNever, kNever, kNever};
    if (compare(found, best_, objective_.size()) < 0) {
      best_ = found;
      mapping_ = std::move(mapping);
      evaluation_ = std::move(evaluation);
    }
    return found;
  }

  const Problem& problem_;
  const std::vector<Metric>& objective_;
  const SearchLimits& limits_;
  GapWatch* watch_;
  const std::chrono::steady_clock::time_point start_;
  Key best_;
  std::optional<Mapping> mapping_;
  Evaluation evaluation_;
  double lower_bound_ = 0;
  bool stopped_ = false, interrupted_ = false, full_ = false;
  std::uint64_t evaluated_ = 0, bounded_ = 0, unfit_ = 0, dominated_ = 0, ticks_ = 0;
};

}  // namespace

std::optional<Optimum> optimize_on_lattice(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                           const SearchLimits& limits, GapWatch* watch, Optimum* partial) {
  const std::optional<Problem> problem = describe(model, space);
  if (!problem) return std::nullopt;
  Optimum optimum;
  LatticeSearch search(*problem, objective, limits, watch);
  if (!search.run(optimum)) {
    if (partial) *partial = std::move(optimum);
    return std::nullopt;
  }
  optimum.infeasible = !optimum.mapping && !search.stopped();
  return optimum;
}

}  // namespace orrery::nest
