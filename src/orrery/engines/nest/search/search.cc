// Depth-first branch and bound over a map space, outermost storage first.
//
// A node is a Front (descent.h): every loop outside storage i is fixed and paid for. Its children are all
// ways to keep dataspaces at i and to lay the loops of i; each is priced, bounded from below
// (Descent::bound) and visited cheapest bound first, so that the first dive usually lands on the optimum
// and the rest of the search is its proof. A node is dropped when
//     capacity   a tile it must keep does not fit,
//     bound      nothing below it can beat the best mapping known,
//     dominance  an earlier front had the same future and cost no more (dominance.h),
// and orders that cannot differ in cost were merged beforehand (space.h, "order").
//
// Determinism: of equally good mappings (incumbent.h) the first in search order wins. The first level's children are
// shared out over threads; a thread drops a node that only *equals* a best mapping found elsewhere if that
// one comes earlier in search order, and never otherwise, so every thread count finds the same mapping.
//
// Limits: one budget is asked by every loop. Where the first level has many children, a quick mapping
// (initial_solution.h) is found first; it loses every tie, so that it changes no proven answer. Children of the first
// level that outgrow their room, or the time set aside for listing them, are searched batch by batch, as those of inner
// levels are; then only the bound of the root holds until the last batch is done.
//
// Cost: 0.1 to 0.3 microseconds per child; memory: one list of children per level.
#include "orrery/engines/nest/search/search_rules.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/search/descent.h"
#include "orrery/engines/nest/search/dominance.h"
#include "orrery/engines/nest/search/gap.h"
#include "orrery/engines/nest/search/incumbent.h"
#include "orrery/engines/nest/search/initial_solution.h"
#include "orrery/engines/nest/search/lattice/lattice.h"
#include "orrery/engines/nest/search/lower_bound.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/relaxed/link_search.h"
#include "orrery/engines/nest/search/relaxed/sliding_search.h"
#include "orrery/engines/nest/search/tiles/tile_search.h"
#include "orrery/engines/nest/space/explain.h"
#include "orrery/engines/nest/space/feasibility.h"
#include "orrery/engines/nest/space/merged_dimensions.h"

namespace orrery::nest {

using base::Count;

namespace {

// Children are sorted and visited in batches of this many at most, which bounds the memory.
constexpr std::size_t kBatch = 1 << 16;
// From so many that iterate on, a table over tiles costs less than branching, unless there are more ways to lay out and
// keep than so many: each needs a look.
constexpr std::size_t kManyDimensions = 4;
constexpr double kMostConfigurations = 20'000;
// Children of the first level that are looked at before a mapping is made to drop some of them.
constexpr std::uint64_t kManyChildren = 1 << 17;
// Parts of the memory: first level's children, fronts remembered, each inner level's children.
constexpr double kForFirst = 1.0 / 4, kForFronts = 1.0 / 2, kForInner = 1.0 / 64;
// Least time for explaining an empty space, even when a time limit is reached.
constexpr double kSecondsToExplain = 0.2;
// Least time for proving that there is no mapping, likewise.
constexpr double kSecondsToRefute = 0.1;
// To find some mapping when the time is over.
constexpr double kSecondsToSettle = 0.05;
// Part of the time for each listing of the first level's children.
constexpr double kForListing = 1.0 / 4;

std::size_t in_room(double bytes, std::size_t each, std::size_t least, std::size_t most) {
  return static_cast<std::size_t>(
      std::clamp(bytes / static_cast<double>(each), static_cast<double>(least), static_cast<double>(most)));
}

Key key_of(const std::vector<Metric>& objective, const Bounds& bounds) {
  return key_of(objective, bounds.energy_pj, bounds.cycles);
}

// What the threads of one search share.
struct Shared {
  const Model& model;
  const Space& space;
  const std::vector<Metric>& objective;
  const SearchRules& limits;
  const base::Budget& budget;
  GapWatch& watch;
  std::mutex mutex;
  Incumbent best;  // guarded; its places are those of first-level children
  std::atomic<std::uint64_t> version{0};
  std::atomic<bool> stopped{false};
  // Per thread: the bound of the first-level child it is below. Children are handed out in the order of their
  // bounds, so the least of these bounds everything still to come, and it never falls.
  std::deque<std::atomic<double>> front;

  // Returns what is to be beaten now.
  Incumbent::Mark offer(const Mapping& mapping, const Evaluation& evaluation, std::int64_t place) {
    const std::lock_guard lock(mutex);
    if (best.offer(mapping, evaluation, place)) ++version;
    return best.mark();
  }

  double lower_bound() const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& bound : front) least = std::min(least, bound.load(std::memory_order_relaxed));
    return least;
  }
};

template <typename Size>
class Searcher {
 public:
  using State = Front<Size>;

  using Factors = std::array<Count, Size::kDims>;

  // One step inwards: what `level` keeps and how it loops. `key` bounds everything below it.
  struct Child {
    Key key;
    Factors temporal;
    const typename Descent<Size>::Order* order;
    const typename Descent<Size>::Spread* spread;
    std::uint32_t iterating;
    std::uint32_t keep;
  };
  using Rank = std::pair<Key, std::uint32_t>;  // of equal bounds, the first listed

  Searcher(Shared& shared, int threads)
      : shared_(shared),
        descent_(shared.model, shared.space),
        dominance_(shared.budget.room() * kForFronts / threads),
        inner_batch_(in_room(shared.budget.room() * kForInner, sizeof(Child) + kOfRank, 256, kBatch)) {
    depth_.resize(descent_.levels());
    path_.resize(descent_.levels());
    root_ = descent_.root();
    first_level_ = pass_forced(root_, descent_.levels() - 1);
  }

  // Hands the children of the outermost level that has a choice to `search(children, order, all)`, cheapest bound
  // first in `order`, in one batch where they have room and time does not press; `all` says of the last one that it
  // is the only one. Complete mappings found on the way (when nothing inside has a choice) are dealt with at once,
  // as the earliest place in search order.
  template <typename Search>
  void for_each_batch(const Search& search) {
    place_ = -1;
    if (first_level_ == kComplete) leaf(root_, nullptr, descent_.levels());
    if (first_level_ < 0) return;
    const std::size_t most = in_room(shared_.budget.room() * kForFirst, sizeof(Child) + kOfRank, 1024, kMostChildren);
    std::vector<Child> children;
    std::vector<Rank> order;
    bool only = true;
    std::optional<base::Budget> listing;
    const auto begin = [&] { listing.emplace(shared_.budget, shared_.budget.seconds_left() * kForListing); };
    const auto flush = [&](bool last) {
      order.clear();
      for (std::uint32_t k = 0; k < children.size(); ++k) order.emplace_back(children[k].key, k);
      std::sort(order.begin(), order.end());
      search(children, order, only && last);
      children.clear();
      only = false;
      place_ = -1;
      refresh();
      begin();
    };
    begin();
    base::Ticker clock(*listing);
    listed_ = 0;
    generate(root_, first_level_, [&](const Child& child, const State&) {
      children.push_back(child);
      if (children.size() < most && !(shared_.budget.limited() && clock.spent())) return;
      flush(false);
      clock = base::Ticker(*listing);
    });
    if (!shared_.stopped) flush(true);
  }

  // No mapping is below it.
  Key root_bound() const {
    if (first_level_ < 0) return Key{};
    return key_of(shared_.objective, descent_.bound(root_, first_level_));
  }

  void search_below(const Child& child, std::int64_t place) {
    place_ = place;
    refresh();
    if (prunes_ && drop(child.key)) {
      ++tally_.bounded;
      return;
    }
    visit(root_, child, first_level_);
  }

  const Tally& tally() const { return tally_; }

 private:
  static constexpr int kComplete = -1, kDead = -2;
  static constexpr std::size_t kOfRank = sizeof(Rank);
  static constexpr std::size_t kMostChildren = std::size_t{1} << 31;

  struct Depth {
    State state;
    Child current;
    std::vector<Child> children;
    std::vector<Rank> order;
  };

  void refresh() {
    if (version_ == shared_.version.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(shared_.mutex);
    seen_ = shared_.best.mark();
    version_ = shared_.version.load();
  }

  bool drop(const Key& key) const {
    const int order = compare(key, seen_.key, shared_.objective.size());
    return order > 0 || (order == 0 && seen_.place <= place_);
  }

  bool too_slow(const Bounds& bounds) const {
    const Count most = shared_.limits.max_cycles;
    return most > 0 && bounds.cycles > static_cast<double>(most) * (1 + kEqual);
  }

  bool out_of_time() {
    if ((++ticks_ & 255) != 0) return shared_.stopped.load(std::memory_order_relaxed);
    refresh();
    if (shared_.budget.spent()) shared_.stopped = true;
    if (shared_.watch.watched()) shared_.watch.report(seen_.key[0], std::min(shared_.lower_bound(), seen_.key[0]));
    return shared_.stopped;
  }

  // While the first level is listed: after so many children, a mapping that allows dropping some.
  void consider_start() {
    if (!prunes_ || ++listed_ != kManyChildren || seen_.key[0] < kNever) return;
    if (const auto found = initial_solution(shared_.model, shared_.space, shared_.objective, shared_.limits.max_cycles,
                                            base::Budget(shared_.budget, shared_.budget.seconds_left() / 8)))
      shared_.offer(found->mapping, found->evaluation, Incumbent::kLast);
    refresh();
  }

  // Takes the levels without a choice from `level` inwards. Returns the next level with one, kComplete when
  // the nest is finished, kDead when something does not fit.
  int pass_forced(State& state, int level) {
    for (; level >= 0; --level) {
      const auto* forced = descent_.forced(level);
      if (!forced) return level;
      if (!descent_.fits(state, level, forced->keep) || under_used(state, level, forced->keep)) {
        ++tally_.unfit;
        return kDead;
      }
      descent_.keep(state, level, forced->keep);
      descent_.loop(state, level, forced->temporal, forced->order, *forced->spread);
    }
    return descent_.finish(state) ? kComplete : kDead;
  }

  void visit(const State& parent, const Child& child, int level) {
    path_[level] = &child;
    State state = parent;
    descent_.keep(state, level, child.keep);
    descent_.loop(state, level, child.temporal, *child.order, *child.spread);
    const int next = pass_forced(state, level - 1);
    if (next >= 0) expand(state, next);
  }

  // `last` is the innermost chosen step, at `level`; the others are on the path.
  void leaf(const State& state, const Child* last, int level) {
    ++tally_.evaluated;
    const Bounds cost = descent_.exact(state);
    if (too_slow(cost) || drop(key_of(shared_.objective, cost))) return;
    if (last) path_[level] = last;
    Mapping mapping;
    for (int i = 0; i < descent_.levels(); ++i) {
      if (const auto* forced = descent_.forced(i))
        mapping.levels.push_back(
            descent_.realise(i, forced->keep, forced->temporal, forced->order, forced->iterating, *forced->spread));
      else
        mapping.levels.push_back(descent_.realise(i, path_[i]->keep, path_[i]->temporal, *path_[i]->order,
                                                  path_[i]->iterating, *path_[i]->spread));
    }
    seen_ = shared_.offer(mapping, shared_.model.evaluate(mapping), place_);
  }

  void expand(const State& state, int level) {
    if (prunes_ && shared_.limits.dominance && level > 0 && dominance_.is_dominated(state, level)) {
      ++tally_.dominated;
      return;
    }
    Depth& depth = depth_[level];
    depth.state = state;
    depth.children.clear();
    const auto flush = [&] {
      depth.order.clear();
      for (std::uint32_t k = 0; k < depth.children.size(); ++k) depth.order.emplace_back(depth.children[k].key, k);
      std::sort(depth.order.begin(), depth.order.end());
      for (const auto& [key, k] : depth.order) {
        if (out_of_time()) return;
        if (prunes_ && drop(key)) {
          ++tally_.bounded;
          continue;
        }
        visit(depth.state, depth.children[k], level);
      }
      depth.children.clear();
    };
    generate(depth.state, level, [&](const Child& child, const State&) {
      depth.children.push_back(child);
      if (depth.children.size() == inner_batch_) flush();
    });
    flush();
  }

  // Every way to keep and loop at `level` that survives: complete mappings are evaluated here, the others
  // are handed to `use(child, state)`.
  template <typename Use>
  void generate(const State& state, int level, const Use& use) {
    Child child;
    const int dimensions = descent_.dimensions();
    for (const std::uint32_t mask : descent_.keeps(level)) {
      if (out_of_time()) return;
      if (!descent_.fits(state, level, mask) || under_used(state, level, mask)) {
        ++tally_.unfit;
        continue;
      }
      State kept = state;
      descent_.keep(kept, level, mask);
      if (prunes_ && descent_.keeps(level).size() > 1) {
        const Bounds bounds = descent_.bound_kept(kept, level);
        if (too_slow(bounds) || drop(key_of(shared_.objective, bounds))) {
          ++tally_.bounded;
          continue;
        }
      }
      child.keep = mask;
      const bool idle = mask == 0 && prunes_ && descent_.loops_move_out(level);
      for (const auto& spread : descent_.spreads(level)) {
        if (out_of_time()) return;
        bool possible = true;
        Factors left = kept.extent;  // what T_level and the blocks inside S_level share
        for (int d = 0; d < dimensions && possible; ++d) {
          if (spread.factor[d] == 1) continue;
          possible = left[d] % spread.factor[d] == 0;
          left[d] /= spread.factor[d];
        }
        if (!possible) continue;
        child.spread = &spread;
        child.temporal.fill(1);
        if (!idle)
          factor(kept, left, level, 0, 0, child, use);
        else if (completable(left, level))
          order(kept, level, 0, child, use);
      }
    }
  }

  bool under_used(const State& state, int level, std::uint32_t mask) const {
    const Count least = shared_.space.minimum_use(level);
    return least > 0 && !descent_.uses_at_least(state, level, mask, least);
  }

  // Whether the blocks inside S_level can do all that is left.
  bool completable(const Factors& left, int level) const {
    for (int d = 0; d < descent_.dimensions(); ++d)
      if (!descent_.completable_inside_spatial(level, d, left[d])) return false;
    return true;
  }

  template <typename Use>
  void factor(const State& kept, const Factors& left, int level, int d, std::uint32_t iterating, Child& child,
              const Use& use) {
    if (d >= Size::kDims || d == descent_.dimensions()) return order(kept, level, iterating, child, use);
    for (const Count f : descent_.factors(level, d, left[d])) {
      if (shared_.stopped.load(std::memory_order_relaxed)) return;
      child.temporal[d] = f;
      factor(kept, left, level, d + 1, iterating | (f > 1 ? 1u << d : 0), child, use);
    }
  }

  template <typename Use>
  void order(const State& kept, int level, std::uint32_t iterating, Child& child, const Use& use) {
    if (out_of_time()) return;
    if (place_ < 0) consider_start();
    child.iterating = iterating;
    for (const auto& order : descent_.orders(level, iterating)) {
      State state = kept;
      descent_.loop(state, level, child.temporal, order, *child.spread);
      child.order = &order;
      const int next = pass_forced(state, level - 1);
      if (next == kDead) continue;
      if (next == kComplete) {
        leaf(state, &child, level);
        continue;
      }
      if (!descent_.fits(state, next, descent_.must_keep(next))) {
        ++tally_.unfit;
        return;  // the tile is the same in every order
      }
      if (!prunes_ && level != first_level_) {
        // Without pruning the order does not matter: continue at once.
        depth_[level].current = child;
        path_[level] = &depth_[level].current;
        if (!out_of_time()) generate(state, next, use);
        continue;
      }
      child.key = Key{};
      if (prunes_) {
        const Bounds bounds = descent_.bound(state, next);
        child.key = key_of(shared_.objective, bounds);
        if (too_slow(bounds) || drop(child.key)) {
          ++tally_.bounded;
          continue;
        }
      }
      use(child, state);
    }
  }

  Shared& shared_;
  const bool prunes_ = shared_.limits.prune_by_bound;
  Descent<Size> descent_;
  State root_;
  int first_level_;
  std::vector<Depth> depth_;
  std::vector<const Child*> path_;
  Incumbent::Mark seen_;
  std::uint64_t version_ = 0;
  std::int64_t place_ = 0;
  Dominance<Size> dominance_;
  const std::size_t inner_batch_;
  Tally tally_;
  std::uint64_t ticks_ = 0, listed_ = 0;
};

// `lower_bound`: no mapping that the search left open is below it.
template <typename Size>
void run(Shared& shared, int threads, Tally& tally, double& lower_bound) {
  std::deque<Searcher<Size>> searchers;
  for (int t = 0; t < threads; ++t) searchers.emplace_back(shared, threads);
  const double root = searchers[0].root_bound()[0];
  lower_bound = root;
  for (int t = 0; t < threads; ++t) shared.front.emplace_back(root);
  std::int64_t earlier = 0;  // children of the batches before
  double open = kNever;      // the least bound of what was left
  searchers[0].for_each_batch([&](const auto& children, const auto& order, bool all) {
    std::vector<char> done(children.size(), 0);
    std::atomic<std::size_t> next{0};
    if (all)
      for (auto& bound : shared.front) bound = order.empty() ? 0 : order[0].first[0];
    const auto work = [&](std::size_t t) {
      try {
        for (std::size_t k; (k = next.fetch_add(1)) < order.size() && !shared.stopped;) {
          if (all) shared.front[t] = order[k].first[0];
          searchers[t].search_below(children[order[k].second], earlier + static_cast<std::int64_t>(k));
          done[k] = !shared.stopped;
        }
      } catch (const std::bad_alloc&) {
        shared.budget.run_out_of_memory();
        shared.stopped = true;
      }
      if (all && !shared.stopped) shared.front[t] = kNever;
    };
    if (threads == 1)
      work(0);
    else
      base::parallel_for(static_cast<std::size_t>(threads), threads, work);
    earlier += static_cast<std::int64_t>(children.size());
    if (!all) return;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (!done[k]) open = std::min(open, order[k].first[0]);
    lower_bound = std::max(root, open);
  });
  if (!shared.stopped) lower_bound = kNever;
  for (const auto& searcher : searchers) {
    tally.evaluated += searcher.tally().evaluated;
    tally.bounded += searcher.tally().bounded;
    tally.unfit += searcher.tally().unfit;
    tally.dominated += searcher.tally().dominated;
  }
}

template <typename Size>
void run_in_room(Shared& shared, Tally& tally, double& lower_bound) {
  // Each thread has its own copy of what it makes of the space.
  double each = 0;
  for (int level = 0; level < shared.space.levels(); ++level)
    each += static_cast<double>(shared.space.spatial(level).size() * sizeof(typename Descent<Size>::Spread));
  const int most = static_cast<int>(in_room(shared.budget.room() / 2, static_cast<std::size_t>(each) + 1, 1, 1 << 20));
  try {
    run<Size>(shared, std::clamp(shared.limits.threads, 1, most), tally, lower_bound);
  } catch (const std::bad_alloc&) {
    shared.budget.run_out_of_memory();
    shared.stopped = true;
  }
}

Optimum branch_and_bound(const Model& model, const Space& space, const std::vector<Metric>& objective,
                         const SearchRules& limits, const base::Budget& budget, GapWatch& watch) {
  Shared shared{model, space, objective, limits, budget, watch, {}, Incumbent(objective, limits), 1, false, {}};
  Tally tally;
  double open = 0;
  if (space.possible()) {
    if (has_room<SmallRoom>(model, space))
      run_in_room<SmallRoom>(shared, tally, open);
    else
      run_in_room<LargeRoom>(shared, tally, open);
  }
  Optimum optimum = shared.best.answer(!shared.stopped, open);
  tally.write(optimum.certificate);
  return optimum;
}

// Completes the answer of a search that ended without a proof: a mapping in any case, and why it ended. If part of the
// space was not even listed, only bounds that do not need the list hold.
void settle(const Model& model, const Space& space, const std::vector<Metric>& objective, const SearchRules& limits,
            const base::Budget& budget, Optimum& optimum) {
  if (!space.complete()) {
    optimum.certificate.optimal = optimum.infeasible = false;
    optimum.certificate.lower_bound = lower_bound_of(model, space, objective[0]);
  }
  if (optimum.certificate.optimal || optimum.infeasible) return;
  if (!optimum.mapping && !limits.beat) {
    const base::Budget little(budget, budget.interrupted() ? 0 : std::max(kSecondsToSettle, budget.seconds_left()));
    if (auto found = initial_solution(model, space, objective, limits.max_cycles, little)) {
      optimum.mapping = std::move(found->mapping);
      optimum.evaluation = std::move(found->evaluation);
    } else if (!budget.interrupted() && limits.max_cycles == 0) {
      // It may be obvious that nothing fits.
      const base::Budget moment({.seconds = kSecondsToRefute, .memory = limits.memory}, limits.searches);
      optimum.infeasible = feasible(model.einsum(), space, moment) == Feasible::kNo;
      if (optimum.infeasible) return;
    }
  }
  optimum.interrupted = budget.interrupted();
  optimum.out_of_memory |= budget.out_of_memory() || (!space.complete() && !budget.spent());
}

}  // namespace

// Products of many dimensions on chips that leave few choices.
static bool suits_tiles(const Space& space) {
  double configurations = 1;
  for (int i = 0; i < space.levels(); ++i)
    configurations *= static_cast<double>(space.spatial(i).size()) * static_cast<double>(space.keeps(i).size());
  return space.dimensions().size() >= kManyDimensions && configurations <= kMostConfigurations;
}

// Why an empty space is, of the time that is left.
static void explain(const Model& model, const Mapspace& mapspace, const SearchRules& limits, const base::Budget& budget,
                    Optimum& optimum) {
  // With a limit on cycles it may be empty because of that limit, which no constraint explains.
  if (!optimum.infeasible || !limits.explain || limits.max_cycles > 0 || limits.beat) return;
  const base::Budget rest(
      {.seconds = std::max(kSecondsToExplain, budget.seconds_left()), .memory = limits.memory, .stop = limits.stop},
      limits.searches);
  explain_empty(model, mapspace, rest, optimum);
}

// The answer of the einsum with fewer dimensions. If that is no mapping of the original, which it bounds in any case,
// the original is searched in the time that is left.
static Optimum optimize_merged(const Model& model, const Mapspace& mapspace, const Merged& merged,
                               const std::vector<Metric>& objective, const SearchRules& limits) {
  const base::Stopwatch clock;
  const base::Budget budget(limits, limits.searches);
  SearchRules rules = limits;
  rules.explain = false;
  const Model fewer(merged.einsum, model.chip(), model.options(), model.reuse());
  Optimum optimum = optimize(fewer, merged.space, objective, rules);
  if (optimum.mapping) {
    optimum.mapping = split(merged, model.einsum(), model.chip(), *optimum.mapping);
    if (!optimum.mapping) {
      rules.merge = false;
      if (budget.limited()) rules.seconds = std::max(kSecondsToSettle, budget.seconds_left());
      const double least = optimum.certificate.lower_bound;
      optimum = optimize(model, mapspace, objective, rules);
      if (optimum.mapping && !optimum.certificate.optimal) {
        const Metric first = objective.empty() ? Metric::kEdp : objective[0];
        optimum.certificate.close(key_of({first}, optimum.evaluation)[0],
                                  std::max(least, optimum.certificate.lower_bound));
      }
    } else {
      optimum.evaluation = model.evaluate(*optimum.mapping);
    }
  }
  explain(model, mapspace, limits, budget, optimum);
  optimum.certificate.seconds = clock.seconds();
  return optimum;
}

Optimum optimize(const Model& model, const Mapspace& mapspace, std::vector<Metric> objective,
                 const SearchLimits& limits) {
  return optimize(model, mapspace, std::move(objective), SearchRules{limits});
}

Optimum optimize(const Model& model, const Mapspace& mapspace, std::vector<Metric> objective,
                 const SearchRules& limits) {
  if (model.options().link_transfers && model.may_link())
    return optimize_with_links(model, mapspace, objective, limits);
  if (limits.merge && limits.prune_by_bound)
    if (const std::optional<Merged> merged = merge_alike(model.einsum(), model.chip(), mapspace))
      return optimize_merged(model, mapspace, *merged, objective, limits);
  const base::Stopwatch clock;
  const base::Budget budget(limits, limits.searches);
  if (objective.empty()) objective = {Metric::kEdp};
  // A metric named a second time has no effect.
  std::vector<Metric> distinct;
  for (const Metric metric : objective)
    if (std::find(distinct.begin(), distinct.end(), metric) == distinct.end()) distinct.push_back(metric);
  objective = distinct;

  Optimum optimum;
  const auto search = [&](const base::Budget& spending) {
    const Space space(model.einsum(), model.chip(), mapspace, model.shape(), {}, spending);
    if (limits.give_way && !space.complete()) {
      optimum.out_of_memory = true;
      optimum.interrupted = spending.interrupted();
      return;
    }
    GapWatch watch(limits);
    const bool sliding = model.shape().sliding;
    std::optional<Optimum> found;
    if (limits.prune_by_bound && (sliding || limits.tiles))
      found = optimize_on_tiles(model, space, objective, limits, spending, watch);
    if (limits.prune_by_bound && limits.lattice && !sliding && !found)
      found = optimize_on_lattice(model, space, objective, limits, spending, &watch);
    if (limits.prune_by_bound && limits.lattice && !sliding && !found && suits_tiles(space))
      found = optimize_on_tiles(model, space, objective, limits, spending, watch);
    optimum = found     ? std::move(*found)
              : sliding ? optimize_sliding(model, space, objective, limits, spending)
                        : branch_and_bound(model, space, objective, limits, spending, watch);
    settle(model, space, objective, limits, spending, optimum);
    optimum.certificate.space = space.size();
  };
  try {
    search(budget);
  } catch (const std::bad_alloc&) {
    // There is not even room for the space. A reduced space fits, and gives at least a mapping.
    optimum = {};
    const base::Budget little({.seconds = 0.1, .memory = 1, .stop = limits.stop});
    little.run_out_of_memory();
    search(little);
  }

  require_countable(model, optimum);
  base::Certificate& certificate = optimum.certificate;
  if (optimum.mapping) {
    const double value = key_of(objective, optimum.evaluation)[0];
    certificate.close(value, certificate.lower_bound);
  }
  explain(model, mapspace, limits, budget, optimum);
  certificate.seconds = clock.seconds();
  return optimum;
}

}  // namespace orrery::nest
