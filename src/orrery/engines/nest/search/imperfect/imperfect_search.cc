// Branch and bound over mappings whose factors leave a remainder.
//
// In a dimension of `bound` iterations let the loops inside the outermost one multiply to P. They divide P, and the
// outermost loop takes ceil(bound / P) iterations: so a mapping is a size P for each dimension, laid out perfectly,
// below one loop that rounds up. Fan-outs and what is kept are chosen first; then levels from the outside in. At each
// level a dimension that has not been rounded up yet may stay so, or take any P that the fan-outs inside divide; one
// that has takes a divisor. Orders of loops all count: where a loop has one iteration in its last round, runs go on
// through it.
//
//   paid     what crosses boundaries outside a level depends on the loops there and on P only: imperfect_traffic()
//   counts it,
//            given a stand-in for everything inside (one fan-out, one block of loops) that no mapping undercuts
//   to come  for each level inside, the cheapest tile within P that fits it (imperfect_prices.cc)
//
// Configurations are visited in the order of their bounds, those that promise most for a while before the others.
// The search starts from the best mappings with perfect and padded factors, improved by single changes
// (local_search.cc). Cost: two microseconds a child.
#include "orrery/engines/nest/search/imperfect/imperfect_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/model/imperfect_traffic.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/imperfect/imperfect_prices.h"
#include "orrery/engines/nest/search/incumbent.h"
#include "orrery/engines/nest/search/local_search.h"
#include "orrery/engines/nest/search/lower_bound.h"
#include "orrery/engines/nest/space/padding.h"

namespace orrery::nest {

namespace {

using base::Count;
using imperfect::Config;
using imperfect::Factors;
using imperfect::Prices;
using imperfect::Problem;
using imperfect::Terms;

constexpr std::uint64_t kMostListed = 3'000'000;
constexpr std::size_t kMostConfigs = 200'000, kMostTables = 4'000, kMostChildren = 1 << 15;
constexpr std::uint64_t kMostSteps = 4'000'000;  // without a limit of time
constexpr std::uint64_t kFirstSteps = 4'000;     // of a configuration, before others have their turn
constexpr std::size_t kMostFirst = 12;
constexpr std::size_t kOrdersAStep = 32, kMostSeen = 1 << 16;  // of loops: many dimensions have factorially many

struct Candidate {
  Config config;
  double energy_pj = 0, active = 0;  // bounds
  Key bound{};
  bool sharpened = false, done = false;
};

// What the loops outside a level leave of each dimension.
struct Rest {
  Factors span;
  std::uint32_t rounded = 0;  // dimensions whose outermost loop has been placed
  double paid_pj = 0;         // for what crosses into the level inside and those further out, at least
};

struct Child {
  Key bound{};
  Factors loops;  // of T_i
  Rest inside;    // S_i
  std::vector<int> order;
};

class Searcher {
 public:
  Searcher(const Model& model, const Mapspace& mapspace, const Space& space, const std::vector<Metric>& objective,
           const SearchLimits& limits, const base::Budget& budget)
      : mapspace_(mapspace),
        problem_(model, space),
        objective_(objective),
        limits_(limits),
        clock_(budget, 64),
        incumbent_(objective, limits.max_cycles, nullptr) {
    least_pj_ = least_energy_pj();
    most_steps_ = budget.limited() ? ~std::uint64_t{0} : kMostSteps;
    for (const workload::Dimension& dimension : model.einsum().dimensions) bounds_.push_back(dimension.bound);
    for (int s = 0; s < problem_.spaces; ++s)
      if (problem_.dataspaces[s].slides) sliding_ |= 1u << s;
    // A stand-in below level i must not be fetched at every iteration because the level of its place is.
    for (int i = 0; i < problem_.levels; ++i) {
      stand_in_rules_.push_back(model.reuse());
      if (i > 0 && !model.reuse().empty()) stand_in_rules_.back()[i - 1].no_temporal_reuse = 0;
    }
  }

  // Whether it is allowed and better than all before.
  bool offer(const Mapping& mapping) {
    const Model& model = problem_.model;
    if (!is_legal(model.einsum(), model.chip(), mapping) ||
        !is_allowed(model.einsum(), model.chip(), mapping, mapspace_))
      return false;
    model.evaluate(mapping, scratch_);
    ++tally_.evaluated;
    return incumbent_.offer(mapping, scratch_);
  }

  // A mapping of sizes that may be larger, which is then improved.
  void begin(Mapping mapping) {
    if (!trim(mapping, bounds_)) return;
    offer(mapping);
    if (!incumbent_.mapping()) return;
    local_search(
        problem_.space, bounds_, *incumbent_.mapping(), [this](const Mapping& next) { return offer(next); }, clock_);
  }

  const Evaluation& best() const { return incumbent_.evaluation(); }

  Optimum run() {
    list();
    using Place = std::pair<Key, std::size_t>;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> queue;
    for (std::size_t k = 0; k < candidates_.size(); ++k) queue.emplace(candidates_[k].bound, k);
    for (std::size_t tried = 0; tried < kMostFirst && !queue.empty() && !clock_.spent();) {
      const std::size_t k = queue.top().second;
      queue.pop();
      Candidate& candidate = candidates_[k];
      if (sharpen(candidate)) {
        if (!drop(candidate.bound)) queue.emplace(candidate.bound, k);
        continue;
      }
      candidate.done = search(candidate, kFirstSteps);
      first_.push_back(k);
      ++tried;
    }
    for (const std::size_t k : first_)
      if (!candidates_[k].done) queue.emplace(candidates_[k].bound, k);
    double open = listed_all_ ? kNever : unlisted_;
    while (!queue.empty()) {
      const auto [bound, k] = queue.top();
      if (drop(bound)) break;
      if (spent()) {
        open = std::min(open, bound[0]);
        break;
      }
      queue.pop();
      Candidate& candidate = candidates_[k];
      if (sharpen(candidate)) {
        queue.emplace(candidate.bound, k);
      } else if (!search(candidate, most_steps_)) {
        open = std::min(open, bound[0]);
        break;
      }
    }
    Optimum optimum = incumbent_.answer(open >= incumbent_.best()[0] * (1 - kEqual), open);
    optimum.infeasible = optimum.infeasible && limits_.max_cycles == 0;
    tally_.write(optimum.certificate);
    optimum.certificate.pruned.pop_back();  // nothing is dominated here
    return optimum;
  }

 private:
  bool spent() { return clock_.spent() || steps_ >= most_steps_; }

  bool drop(const Key& key) const { return incumbent_.drop(key); }

  Key key(double energy_pj, double active) const {
    return key_of(objective_, energy_pj, active + static_cast<double>(problem_.model.latency_cycles()));
  }

  // Computes, and every word once out of the cheapest storage that may be the innermost to keep it.
  double least_energy_pj() const {
    double energy_pj = problem_.model.compute_pj();
    for (int s = 0; s < problem_.spaces; ++s) {
      double least = kNever;
      for (const PricedLevel& level : problem_.model.levels()) {
        const double part = level.clusters == 0 ? 1 : 0;
        const double each = problem_.dataspaces[s].read_write ? level.update_pj : level.read_pj;
        least = std::min(least, part * each * static_cast<double>(level.units.value[s]) / level.block);
      }
      energy_pj += least * problem_.dataspaces[s].least_words;
    }
    return energy_pj;
  }

  // Configurations by their quick bounds; the least promising fall out where there are too many.
  void list() {
    Candidate candidate;
    candidate.config.spread.resize(problem_.levels);
    candidate.config.keep.resize(problem_.levels);
    std::uint64_t listed = 0;
    const auto by_bound = [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; };
    const auto give_up = [&] {
      if (!clock_.spent() && listed < kMostListed) return false;
      listed_all_ = false;
      unlisted_ = std::min(unlisted_, lower_bound_of(problem_.model, problem_.space, objective_[0]));
      return true;
    };
    const std::function<void(int)> keep = [&](int level) {
      if (level < problem_.levels) {
        for (const std::uint32_t mask : problem_.space.keeps(level)) {
          if (give_up()) return;
          candidate.config.keep[level] = mask;
          keep(level + 1);
        }
        return;
      }
      ++listed;
      const Prices prices(problem_, candidate.config);
      if (!prices.possible()) return;
      std::array<Count, kMaxLevels> one;
      one.fill(1);
      candidate.active = prices.cycles();
      candidate.energy_pj = prices.fixed_pj() + prices.compulsory_pj();
      candidate.bound = key(candidate.energy_pj + prices.leakage_pj(candidate.active, one, 1), candidate.active);
      if (drop(candidate.bound)) {
        ++tally_.bounded;
        return;
      }
      candidates_.push_back(candidate);
      if (candidates_.size() < 2 * kMostConfigs) return;
      std::nth_element(candidates_.begin(), candidates_.begin() + kMostConfigs, candidates_.end(), by_bound);
      unlisted_ = std::min(unlisted_, candidates_[kMostConfigs].bound[0]);
      listed_all_ = false;
      candidates_.resize(kMostConfigs);
    };
    const std::function<void(int)> spread = [&](int level) {
      if (give_up()) return;
      if (level < problem_.levels) {
        for (const SpatialChoice& choice : problem_.space.spatial(level)) {
          candidate.config.spread[level] = &choice;
          spread(level + 1);
        }
        return;
      }
      // Whoever keeps what, so many cycles it takes to compute.
      double cycles = 1;
      for (int d = 0; d < problem_.dims; ++d) {
        Count covered = 1;
        for (const SpatialChoice* choice : candidate.config.spread)
          covered = std::min(problem_.bound[d], covered * std::min(problem_.bound[d], choice->factor[d]));
        cycles *= static_cast<double>((problem_.bound[d] + covered - 1) / covered);
      }
      if (drop(key(least_pj_, cycles)))
        ++tally_.bounded;
      else
        keep(0);
    };
    if (problem_.space.possible()) spread(0);
    if (!problem_.space.complete()) {
      listed_all_ = false;
      unlisted_ = std::min(unlisted_, lower_bound_of(problem_.model, problem_.space, objective_[0]));
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), by_bound);
  }

  // A table depends on the fan-outs up to its level and on those between it and the levels outside that keep something.
  std::shared_ptr<const Terms> table(const Prices& prices, int level) {
    std::vector<Count> what{level, prices.config().keep[level]};
    for (int s = 0; s < problem_.spaces; ++s)
      what.push_back(prices.config().keep[level] >> s & 1 ? prices.parent(s, level) : -2);
    for (const int d : problem_.space.dimensions()) what.push_back(prices.inside(level, d));
    for (int i = level + 1; i < problem_.levels; ++i)
      for (const int d : problem_.space.dimensions()) what.push_back(prices.config().spread[i]->factor[d]);
    if (const auto found = tables_.find(what); found != tables_.end()) return found->second;
    if (tables_.size() >= kMostTables) tables_.clear();
    return tables_[what] = std::make_shared<const Terms>(prices, level);
  }

  void take_tables(const Prices& prices) {
    terms_.assign(problem_.levels, nullptr);
    for (int level = 0; level < problem_.levels; ++level)
      if (prices.config().keep[level] != 0) terms_[level] = table(prices, level);
  }

  // Whether the bound was sharpened now.
  bool sharpen(Candidate& candidate) {
    if (candidate.sharpened) return false;
    candidate.sharpened = true;
    const Prices prices(problem_, candidate.config);
    take_tables(prices);
    double energy_pj = prices.fixed_pj();
    for (const auto& terms : terms_)
      if (terms) energy_pj += terms->least(problem_.bound);
    energy_pj = std::max(energy_pj, candidate.energy_pj);
    std::array<Count, kMaxLevels> one;
    one.fill(1);
    candidate.bound =
        std::max(candidate.bound, key(energy_pj + prices.leakage_pj(candidate.active, one, 1), candidate.active));
    return true;
  }

  // False where the steps or the budget ended it.
  bool search(const Candidate& candidate, std::uint64_t most) {
    const Prices prices(problem_, candidate.config);
    take_tables(prices);
    prices_ = &prices;
    until_ = std::min(most_steps_, most > ~std::uint64_t{0} - steps_ ? most_steps_ : steps_ + most);
    stopped_ = false;
    work_.levels.assign(problem_.levels, {});
    for (int i = 0; i < problem_.levels; ++i) {
      LevelMapping& level = work_.levels[i];
      const SpatialChoice& spread = *candidate.config.spread[i];
      std::uint32_t iterating = 0;
      for (int d = 0; d < problem_.dims; ++d)
        if (spread.factor[d] > 1) iterating |= 1u << d;
      std::tie(level.spatial_order, level.split) = problem_.space.full_spatial_order(i, iterating, spread.to_x);
      level.temporal_order = problem_.space.full_temporal_order(i, {});
      level.spatial.assign(spread.factor.begin(), spread.factor.begin() + problem_.dims);
      level.temporal.assign(problem_.dims, 1);
      level.keep = candidate.config.keep[i];
    }
    Rest rest;
    rest.span = problem_.bound;
    if (fits(problem_.levels - 1, rest.span)) open(problem_.levels - 1, rest);
    return !stopped_;
  }

  bool fits(int level, const Factors& span) {
    const std::optional<Count> capacity = problem_.space.capacity(level);
    const Count least = problem_.space.minimum_use(level);
    if (!capacity && least == 0) return true;
    Count words = 0;
    for (std::uint32_t kept = work_.levels[level].keep; kept != 0; kept &= kept - 1)
      words += problem_.space.units(level, __builtin_ctz(kept)) * problem_.dataspaces[__builtin_ctz(kept)].tile(span);
    if ((!capacity || words <= *capacity) && words >= least) return true;
    ++tally_.unfit;
    return false;
  }

  void open(int level, const Rest& outside) {
    std::vector<Child> children;
    Child child;
    child.loops.fill(1);
    child.inside = outside;
    const auto flush = [&] {
      std::vector<std::pair<Key, std::size_t>> order;
      for (std::size_t k = 0; k < children.size(); ++k) order.emplace_back(children[k].bound, k);
      std::sort(order.begin(), order.end());
      for (const auto& [bound, k] : order) {
        if (stopped_) return;
        if (drop(bound)) {
          ++tally_.bounded;
          continue;
        }
        place(level, children[k]);
        open(level - 1, children[k].inside);
      }
      children.clear();
    };
    choose(level, 0, outside, child, [&](const Child& made) {
      children.push_back(made);
      if (children.size() >= kMostChildren) flush();
    });
    flush();
  }

  void place(int level, const Child& child) {
    LevelMapping& mapping = work_.levels[level];
    for (int d = 0; d < problem_.dims; ++d) mapping.temporal[d] = child.loops[d];
    if (!child.order.empty()) mapping.temporal_order = child.order;
  }

  bool may_loop(int level, int d, Count iterations) const {
    const std::vector<Count>& allowed = problem_.space.temporal(level, d);
    return std::binary_search(allowed.begin(), allowed.end(), iterations);
  }

  // Every way to lay the loops of dimension d and of those after it.
  template <typename Use>
  void choose(int level, int d, const Rest& outside, Child& child, const Use& use) {
    if (stopped_ || clock_.spent()) {
      stopped_ = true;
      return;
    }
    if (d == problem_.dims) return finish(level, outside.paid_pj, child, use);
    const Count wide = work_.levels[level].spatial[d];
    const Count inside = prices_->inside(level, d), within = inside / wide;
    const Count span = outside.span[d];
    const auto take = [&](Count loops, Count left, bool rounded) {
      if (!may_loop(level, d, loops)) return;
      child.loops[d] = loops;
      child.inside.span[d] = left;
      const std::uint32_t before = child.inside.rounded;
      child.inside.rounded = rounded ? before | 1u << d : before;
      choose(level, d + 1, outside, child, use);
      child.inside.rounded = before;
    };
    if (problem_.bound[d] == 1) {
      take(1, 1, true);
    } else if (outside.rounded >> d & 1) {
      const Count share = span / inside;  // what the loops of this level and of those inside it multiply to
      if (level == 0) return take(share, 1, true);
      for (Count loops = 1; loops <= share; ++loops)
        if (share % loops == 0) take(loops, span / loops / wide, true);
    } else {
      // The outermost loop in time here, with all sizes that give another number of rounds or may be divided further;
      for (Count left = inside; left < span; left += inside) {
        take((span + left - 1) / left, left / wide, true);
        if (level == 0) break;
      }
      // or the fan-out;
      if (wide > 1) {
        for (Count left = within; left < span; left += within) {
          const Count rounds = (span + left - 1) / left;
          if (rounds < wide) break;
          if (rounds == wide) take(1, left, true);
          if (level == 0) break;
        }
      } else if (level > 0) {
        take(1, span, false);  // or none.
      }
    }
  }

  template <typename Use>
  void finish(int level, double paid_pj, Child& child, const Use& use) {
    if (++steps_, steps_ >= until_ || clock_.spent()) {
      stopped_ = true;
      return;
    }
    place(level, child);
    if (level == 0) {
      work_.levels[0].temporal_order = problem_.space.full_temporal_order(0, iterating(child));
      if (complete(work_, bounds_)) offer(work_);
      clear_last();
      return;
    }
    if (!fits(level - 1, child.inside.span)) return;
    if (drop(quick_bound(level, paid_pj, child.inside.span))) {
      ++tally_.bounded;
      return;
    }
    std::vector<int> loops = iterating(child);
    bool matters = false;  // the order of loops, to what is kept inside
    for (int i = 0; i < level; ++i) matters = matters || work_.levels[i].keep != 0;
    std::set<std::vector<int>> seen;  // constraints may make one order of several
    do {
      if (steps_ >= until_ || clock_.spent()) {
        stopped_ = true;
        return;
      }
      child.order = problem_.space.full_temporal_order(level, loops);
      if (seen.size() < kMostSeen && !seen.insert(child.order).second) continue;
      if (++orders_ % kOrdersAStep == 0) ++steps_;
      work_.levels[level].temporal_order = child.order;
      child.bound = bound(level, child.inside, child.inside.paid_pj);
      if (drop(child.bound)) {
        ++tally_.bounded;
        continue;
      }
      use(child);
    } while (matters && std::next_permutation(loops.begin(), loops.end()));
  }

  std::vector<int> iterating(const Child& child) const {
    std::vector<int> loops;
    for (int d = 0; d < problem_.dims; ++d)
      if (child.loops[d] > 1) loops.push_back(d);
    return loops;
  }

  void clear_last() {
    for (LevelMapping& level : work_.levels) level.temporal_last.clear(), level.spatial_last.clear();
  }

  // Of all mappings whose loops from `level` outwards leave this span, in any order.
  Key quick_bound(int level, double paid_pj, const Factors& span) const {
    double energy_pj = prices_->fixed_pj() + paid_pj;
    for (int a = 0; a < level; ++a)
      if (terms_[a]) energy_pj += terms_[a]->least(span);
    std::array<Count, kMaxLevels> one;
    one.fill(1);
    return key(energy_pj + prices_->leakage_pj(prices_->cycles(), one, 1), prices_->cycles());
  }

  // With everything from `level` outwards laid, of all mappings inside; what is paid for boundaries up to the next
  // level, too.
  Key bound(int level, const Rest& inside, double& paid_pj) {
    const int below = level - 1;
    stand_in_ = work_;
    std::uint32_t virtual_keep = 0;
    for (int i = 0; i <= below; ++i) {
      virtual_keep |= work_.levels[i].keep & ~sliding_;
      LevelMapping& empty = stand_in_.levels[i];
      empty.keep = 0;
      for (int d = 0; d < problem_.dims; ++d) empty.spatial[d] = empty.temporal[d] = 1;
    }
    LevelMapping& one = stand_in_.levels[below];
    one.keep = virtual_keep;
    for (int d = 0; d < problem_.dims; ++d) {
      one.spatial[d] = prices_->inside(below, d);
      one.temporal[d] = (inside.span[d] + one.spatial[d] - 1) / one.spatial[d];
      if (!(inside.rounded >> d & 1) && one.temporal[d] == 1) one.spatial[d] = inside.span[d];
    }
    complete(stand_in_, bounds_);
    const Model& model = problem_.model;
    imperfect_traffic(model.einsum(), model.shape(), stand_in_, stand_in_rules_[level], false, traffic_);

    paid_pj = 0;
    std::array<double, kMaxLevels> inner{};  // of the first boundary inside, by its level
    double active = std::max(prices_->cycles(), static_cast<double>(traffic_.compute_cycles));
    const Flows<double>& busiest = model.options().whole_rounds ? traffic_.mean : traffic_.busiest;
    for (int i = level; i < problem_.levels; ++i) {
      const PricedLevel& priced = model.levels()[i];
      const double instances = static_cast<double>(traffic_.instances[i]);
      double reads = 0, writes = 0;
      for (std::uint32_t kept = work_.levels[i].keep; kept != 0; kept &= kept - 1) {
        const int s = __builtin_ctz(kept);
        const bool read_write = problem_.dataspaces[s].read_write;
        if (sliding_ >> s & 1 && (read_write || keeper_inside(i, s) < level)) {
          settle_sliding(i, level, s, paid_pj, inner, reads, writes);
          continue;
        }
        if (priced.limited()) {
          double content = busiest.content[i][s];
          if (prices_->innermost(s) == i)
            content = prices_->computed_words(s) / instances;
          else if (keeper_inside(i, s) < level)
            content *= gaps(s);
          Words<double> most = served(priced, read_write, s, content, std::min(content, busiest.seen[i][s]));
          if (prices_->parent(s, i) >= 0)
            most += received(priced, read_write, s, busiest.share[i][s], busiest.seen_entering[i][s]);
          reads += most.reads;
          writes += most.fills + most.updates;
        }
        if (prices_->innermost(s) == i) {
          if (prices_->parent(s, i) >= 0) paid_pj += received_pj(i, s, read_write, instances);
          continue;
        }
        const int a = keeper_inside(i, s);
        const double content = traffic_.mean.content[i][s] * (a < level ? gaps(s) : 1);
        const double served_pj = energy_pj_of(
            i, served(priced, read_write, s, content, std::min(content, traffic_.mean.seen[i][s])), instances);
        if (a >= level)
          paid_pj += served_pj;
        else
          inner[a] += served_pj + prices_->received_pj(a, s,
                                                       gaps(s) * traffic_.mean.share[below][s] *
                                                           static_cast<double>(traffic_.instances[below]));
        if (prices_->parent(s, i) >= 0) paid_pj += received_pj(i, s, read_write, instances);
      }
      active = std::max(active, priced.port_cycles(reads, writes));
    }
    double energy_pj = prices_->fixed_pj() + paid_pj;
    paid_pj += inner[below];
    for (int a = 0; a < level; ++a) energy_pj += std::max(inner[a], terms_[a] ? terms_[a]->least(inside.span) : 0.0);
    std::array<Count, kMaxLevels> instances = traffic_.instances;
    for (int i = 0; i < below; ++i) instances[i] = traffic_.instances[below];
    return key(energy_pj + prices_->leakage_pj(active, instances, traffic_.instances[below]), active);
  }

  // Of a dataspace whose tiles overlap, at level i, where the tile inside is not known or first updates are spared:
  // what comes from outside is known if it is read only, and every word passes inwards once.
  void settle_sliding(int i, int level, int s, double& paid_pj, std::array<double, kMaxLevels>& inner, double& reads,
                      double& writes) const {
    const PricedLevel& priced = problem_.model.levels()[i];
    const bool read_write = problem_.dataspaces[s].read_write, innermost = prices_->innermost(s) == i;
    const double instances = static_cast<double>(traffic_.instances[i]);
    const double all = innermost ? prices_->computed_words(s) : problem_.dataspaces[s].least_words;
    const double content = all / instances;
    const Words<double> words =
        served(priced, read_write, s, content, std::min(content, prices_->most_seen(i, s) / instances));
    reads += words.reads;
    writes += words.fills + words.updates;
    if (!innermost) {
      const int a = keeper_inside(i, s);
      const double pj = energy_pj_of(i, words, instances);
      if (a >= level)
        paid_pj += pj;
      else
        inner[a] += pj + prices_->received_pj(a, s, all);
    }
    if (read_write || prices_->parent(s, i) < 0) return;
    paid_pj += received_pj(i, s, read_write, instances);
    const Flows<double>& busiest = problem_.model.options().whole_rounds ? traffic_.mean : traffic_.busiest;
    const Words<double> filled = received(priced, read_write, s, busiest.share[i][s], 0.0);
    reads += filled.reads;
    writes += filled.fills;
  }

  double energy_pj_of(int level, const Words<double>& words, double instances) const {
    const PricedLevel& priced = problem_.model.levels()[level];
    return energy_pj(priced, words, priced.paying(instances));
  }

  double received_pj(int level, int s, bool read_write, double instances) const {
    return energy_pj_of(level,
                        received(problem_.model.levels()[level], read_write, s, traffic_.mean.share[level][s],
                                 traffic_.mean.seen_entering[level][s]),
                        instances);
  }

  // Along a stretched dimension small tiles bring less of what lies between: the least part of a large tile's words.
  double gaps(int s) const { return problem_.dataspaces[s].least_words / problem_.dataspaces[s].most_seen; }

  int keeper_inside(int level, int s) const {
    for (int i = level - 1; i >= 0; --i)
      if (work_.levels[i].keep >> s & 1) return i;
    return -1;
  }

  const Mapspace& mapspace_;
  const Problem problem_;
  const std::vector<Metric>& objective_;
  const SearchLimits& limits_;
  base::Ticker clock_;
  std::vector<Count> bounds_;
  std::uint32_t sliding_ = 0;                            // dataspaces whose tiles may overlap
  std::vector<std::vector<ReuseRules>> stand_in_rules_;  // by level
  Incumbent incumbent_;
  Tally tally_;
  Evaluation scratch_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> first_;
  bool listed_all_ = true;
  double least_pj_ = 0;       // of any mapping
  double unlisted_ = kNever;  // least bound of what was not listed
  std::map<std::vector<Count>, std::shared_ptr<const Terms>> tables_;
  std::uint64_t steps_ = 0, orders_ = 0, most_steps_ = 0, until_ = 0;
  // Of the configuration under way.
  const Prices* prices_ = nullptr;
  std::vector<std::shared_ptr<const Terms>> terms_;
  Mapping work_, stand_in_;
  ImperfectTraffic traffic_;
  bool stopped_ = false;
};

Optimum best_imperfect(const Model& model, const Mapspace& mapspace, const std::vector<Metric>& objective,
                       const SearchLimits& limits, const base::Budget& budget, const std::vector<Mapping>& known) {
  const Space space(model.einsum(), model.chip(), mapspace, model.shape(), {}, budget, true);
  Searcher searcher(model, mapspace, space, objective, limits, budget);
  for (const Mapping& mapping : known) searcher.begin(mapping);
  Optimum optimum = searcher.run();
  optimum.certificate.space = space.size();
  optimum.interrupted = budget.interrupted();
  optimum.out_of_memory = budget.out_of_memory();
  return optimum;
}

}  // namespace

Evaluation improved_imperfect(const Model& model, const Mapspace& space, const std::vector<Metric>& objective,
                              const Mapping& known) {
  const Space any(model.einsum(), model.chip(), space, model.shape(), {}, {}, true);
  const SearchLimits limits;
  Searcher searcher(model, space, any, objective, limits, {});
  searcher.begin(known);
  return searcher.best();
}

ImperfectOptimum optimize_imperfect(const Model& model, const Mapspace& space, const std::vector<Metric>& objective,
                                    const SearchLimits& limits) {
  const base::Stopwatch clock;
  const base::Budget budget(limits, limits.searches);
  // Transfers between neighbours are left out, as by optimize().
  ModelOptions options = model.options();
  const bool linked = options.link_transfers && model.may_link();
  options.link_transfers = false;
  const Model apart(model.einsum(), model.chip(), options, model.reuse());

  SearchLimits part = limits;
  part.progress = nullptr;
  part.seconds /= 4;
  ImperfectOptimum answer;
  Optimum first = optimize(apart, space, objective, part);
  if (first.mapping) answer.perfect = model.evaluate(*first.mapping);
  if (first.interrupted || (limits.give_way && first.out_of_memory)) {
    answer.optimum = std::move(first);
    answer.optimum.certificate.optimal = answer.optimum.infeasible = false;
    answer.optimum.certificate.close(answer.perfect ? key_of(objective, *answer.perfect)[0] : kNever, 0);
    return answer;
  }
  std::vector<Mapping> known;
  if (first.mapping) known.push_back(*first.mapping);
  const PaddedOptimum padded = optimize_padded(apart, space, objective, part, {}, &first);
  if (padded.optimum.mapping && !padded.rounded.empty()) known.push_back(*padded.optimum.mapping);

  Optimum& optimum = answer.optimum;
  optimum = best_imperfect(apart, space, objective, limits, budget, known);
  if (optimum.infeasible) {
    optimum.conflicts = std::move(first.conflicts);
    optimum.arithmetic = std::move(first.arithmetic);
    optimum.ways_out = std::move(first.ways_out);
  }
  base::Certificate& certificate = optimum.certificate;
  if (optimum.mapping) {
    double least = certificate.lower_bound;
    if (linked) {
      const Space any(model.einsum(), model.chip(), space, model.shape(), {}, budget, true);
      optimum.evaluation = model.evaluate(*optimum.mapping);
      certificate.optimal = false;
      least = lower_bound_of(model, any, objective[0]);
    }
    const double value = key_of(objective, optimum.evaluation)[0];
    certificate.close(value, std::min(value, least));
  }
  require_countable(model, optimum);
  certificate.seconds = clock.seconds();
  return answer;
}

}  // namespace orrery::nest
