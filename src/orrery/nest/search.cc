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
// Determinism: mappings count as equally good when their metrics agree to 1e-12, the rounding of sums of
// doubles in different orders; among equals the first in search order wins. The first level's children are
// shared out over threads; a thread drops a node that only *equals* a best mapping found elsewhere if that
// one comes earlier in search order, and never otherwise, so every thread count finds the same mapping.
//
// Cost: 0.1 to 0.3 microseconds per child; memory: one list of children per level.
#include "orrery/nest/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>

#include "orrery/base/check.h"
#include "orrery/base/parallel.h"
#include "orrery/nest/countable.h"
#include "orrery/nest/descent.h"
#include "orrery/nest/dominance.h"
#include "orrery/nest/explain.h"
#include "orrery/nest/gap.h"
#include "orrery/nest/lattice.h"
#include "orrery/nest/objective.h"
#include "orrery/nest/sliding_search.h"

namespace orrery::nest {

using base::Count;

namespace {

// Children are sorted and visited in batches of this many, which bounds the memory.
constexpr std::size_t kBatch = 1 << 16;

constexpr double kLongest = 1e9;  // seconds of a limit; nanoseconds of much more are no 64-bit count

struct Incumbent {
  Key key{kNever, kNever, kNever};
  std::int64_t place = std::numeric_limits<std::int64_t>::max();  // of the first-level child it lies under
};

Key key_of(const std::vector<Metric>& objective, const Bounds& bounds) {
  return key_of(objective, bounds.energy_pj, bounds.cycles);
}

// What the threads of one search share.
struct Shared {
  const Model& model;
  const Space& space;
  const std::vector<Metric>& objective;
  const SearchLimits& limits;
  std::chrono::steady_clock::time_point deadline;
  std::mutex mutex;
  Incumbent best;  // guarded; `seen` below is each thread's copy
  std::optional<Mapping> mapping;
  Evaluation evaluation;
  std::atomic<std::uint64_t> version{0};
  std::atomic<bool> stopped{false};
  std::atomic<bool> interrupted{false};
  GapWatch& watch;
  // Per thread: the bound of the first-level child it is below. Children are handed out in the order of their
  // bounds, so the least of these bounds everything still to come, and it never falls.
  std::deque<std::atomic<double>> front;

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

  explicit Searcher(Shared& shared) : shared_(shared), descent_(shared.model, shared.space) {
    depth_.resize(descent_.levels());
    path_.resize(descent_.levels());
    root_ = descent_.root();
    first_level_ = pass_forced(root_, descent_.levels() - 1);
  }

  // Children of the outermost level that has a choice, cheapest bound first. Complete mappings found on the
  // way (when nothing inside has a choice) are dealt with at once, as the earliest place in search order.
  std::vector<Child> first_children() {
    place_ = -1;
    if (first_level_ == kComplete) leaf(root_, nullptr, descent_.levels());
    std::vector<Child> children;
    if (first_level_ >= 0)
      generate(root_, first_level_, [&](const Child& child, const State&) { children.push_back(child); });
    std::stable_sort(children.begin(), children.end(), [](const Child& a, const Child& b) { return a.key < b.key; });
    return children;
  }

  void search_below(const Child& child, std::int64_t place) {
    place_ = place;
    refresh();
    if (prunes_ && drop(child.key)) {
      ++bounded_;
      return;
    }
    visit(root_, child, first_level_);
  }

  std::uint64_t evaluated() const { return evaluated_; }
  std::uint64_t bounded() const { return bounded_; }
  std::uint64_t unfit() const { return unfit_; }
  std::uint64_t dominated() const { return dominated_; }

 private:
  static constexpr int kComplete = -1, kDead = -2;

  struct Depth {
    State state;
    Child current;
    std::vector<Child> children;
    std::vector<std::pair<Key, std::uint32_t>> order;
  };

  void refresh() {
    if (version_ == shared_.version.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(shared_.mutex);
    seen_ = shared_.best;
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
    if (shared_.limits.stop && shared_.limits.stop->load()) {
      shared_.interrupted = true;
      shared_.stopped = true;
    }
    if (shared_.limits.seconds > 0 && std::chrono::steady_clock::now() >= shared_.deadline) shared_.stopped = true;
    if (shared_.watch.watched()) shared_.watch.report(seen_.key[0], std::min(shared_.lower_bound(), seen_.key[0]));
    return shared_.stopped;
  }

  // Takes the levels without a choice from `level` inwards. Returns the next level with one, kComplete when
  // the nest is finished, kDead when something does not fit.
  int pass_forced(State& state, int level) {
    for (; level >= 0; --level) {
      const auto* forced = descent_.forced(level);
      if (!forced) return level;
      if (!descent_.fits(state, level, forced->keep) || under_used(state, level, forced->keep)) {
        ++unfit_;
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
    ++evaluated_;
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
    Evaluation evaluation = shared_.model.evaluate(mapping);
    if (shared_.limits.max_cycles > 0 && evaluation.cycles > shared_.limits.max_cycles) return;
    const Key key = key_of(shared_.objective, evaluation);
    const std::lock_guard lock(shared_.mutex);
    const int order = compare(key, shared_.best.key, shared_.objective.size());
    if (order < 0 || (order == 0 && place_ < shared_.best.place)) {
      shared_.best.key = key;
      shared_.best.place = place_;
      shared_.mapping = std::move(mapping);
      shared_.evaluation = std::move(evaluation);
      ++shared_.version;
    }
    seen_ = shared_.best;
    version_ = shared_.version.load();
  }

  void expand(const State& state, int level) {
    if (prunes_ && shared_.limits.dominance && level > 0 && dominance_.is_dominated(state, level)) {
      ++dominated_;
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
          ++bounded_;
          continue;
        }
        visit(depth.state, depth.children[k], level);
      }
      depth.children.clear();
    };
    generate(depth.state, level, [&](const Child& child, const State&) {
      depth.children.push_back(child);
      if (depth.children.size() == kBatch) flush();
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
      if (!descent_.fits(state, level, mask) || under_used(state, level, mask)) {
        ++unfit_;
        continue;
      }
      State kept = state;
      descent_.keep(kept, level, mask);
      if (prunes_ && descent_.keeps(level).size() > 1) {
        const Bounds bounds = descent_.bound_kept(kept, level);
        if (too_slow(bounds) || drop(key_of(shared_.objective, bounds))) {
          ++bounded_;
          continue;
        }
      }
      child.keep = mask;
      const bool idle = mask == 0 && prunes_ && descent_.loops_move_out(level);
      for (const auto& spread : descent_.spreads(level)) {
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
    return least > 0 && !descent_.uses_at_least(state, mask, least);
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
      child.temporal[d] = f;
      factor(kept, left, level, d + 1, iterating | (f > 1 ? 1u << d : 0), child, use);
    }
  }

  template <typename Use>
  void order(const State& kept, int level, std::uint32_t iterating, Child& child, const Use& use) {
    // Not while the first level is listed: what is missing there would be missing from the lower bound.
    if (place_ >= 0 && out_of_time()) return;
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
        ++unfit_;
        return;  // the tile is the same in every order
      }
      if (!prunes_ && level != first_level_) {
        // Nothing to sort by: go on at once, with the front at hand.
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
          ++bounded_;
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
  Incumbent seen_;
  std::uint64_t version_ = 0;
  std::int64_t place_ = 0;
  Dominance<Size> dominance_;
  std::uint64_t evaluated_ = 0, bounded_ = 0, unfit_ = 0, dominated_ = 0, ticks_ = 0;
};

struct Tally {
  std::uint64_t evaluated = 0, bounded = 0, unfit = 0, dominated = 0;
  double lower_bound = 0;
};

template <typename Size>
Tally run(Shared& shared, int threads) {
  std::deque<Searcher<Size>> searchers;
  for (int t = 0; t < threads; ++t) searchers.emplace_back(shared);
  const auto children = searchers[0].first_children();
  std::vector<char> done(children.size(), 0);
  std::atomic<std::size_t> next{0};
  for (int t = 0; t < threads; ++t) shared.front.emplace_back(children.empty() ? 0 : children[0].key[0]);
  const auto work = [&](std::size_t t) {
    for (std::size_t k; (k = next.fetch_add(1)) < children.size() && !shared.stopped;) {
      shared.front[t] = children[k].key[0];
      searchers[t].search_below(children[k], static_cast<std::int64_t>(k));
      done[k] = !shared.stopped;
    }
    if (!shared.stopped) shared.front[t] = std::numeric_limits<double>::infinity();
  };
  if (threads == 1)
    work(0);
  else
    base::parallel_for(static_cast<std::size_t>(threads), threads, work);

  Tally tally;
  for (const auto& searcher : searchers) {
    tally.evaluated += searcher.evaluated();
    tally.bounded += searcher.bounded();
    tally.unfit += searcher.unfit();
    tally.dominated += searcher.dominated();
  }
  tally.lower_bound = shared.best.key[0];
  for (std::size_t k = 0; k < children.size(); ++k)
    if (!done[k]) tally.lower_bound = std::min(tally.lower_bound, children[k].key[0]);
  return tally;
}

Optimum branch_and_bound(const Model& model, const Space& space, const std::vector<Metric>& objective,
                         const SearchLimits& limits, GapWatch& watch) {
  Optimum optimum;
  Shared shared{model, space, objective, limits, {}, {}, {}, {}, {}, 0, false, false, watch, {}};
  if (limits.seconds > 0)
    shared.deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(std::min(limits.seconds, kLongest)));
  Tally tally;
  if (space.possible())
    tally = has_room<SmallRoom>(model, space) ? run<SmallRoom>(shared, std::max(1, limits.threads))
                                              : run<LargeRoom>(shared, std::max(1, limits.threads));
  optimum.certificate.evaluated = tally.evaluated;
  optimum.certificate.pruned = {{"capacity", tally.unfit}, {"bound", tally.bounded}, {"dominance", tally.dominated}};
  optimum.interrupted = shared.interrupted;
  optimum.mapping = std::move(shared.mapping);
  optimum.evaluation = std::move(shared.evaluation);
  optimum.certificate.optimal = optimum.mapping && !shared.stopped;
  optimum.certificate.lower_bound = std::min(shared.best.key[0], tally.lower_bound);
  optimum.infeasible = !optimum.mapping && !shared.stopped;
  return optimum;
}

}  // namespace

Optimum optimize(const Model& model, const Mapspace& mapspace, std::vector<Metric> objective,
                 const SearchLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
  if (objective.empty()) objective = {Metric::kEdp};
  // A metric named twice decides nothing the second time.
  std::vector<Metric> distinct;
  for (const Metric metric : objective)
    if (std::find(distinct.begin(), distinct.end(), metric) == distinct.end()) distinct.push_back(metric);
  objective = distinct;
  if (model.shape().sliding) {
    Optimum optimum = optimize_sliding(model, mapspace, objective, limits);
    require_countable(model, optimum);
    return optimum;
  }

  const Space space(model.einsum(), model.chip(), mapspace, model.shape());
  std::optional<Optimum> found;
  GapWatch watch(limits);
  if (limits.prune_by_bound && limits.lattice) found = optimize_on_lattice(model, space, objective, limits, &watch);
  Optimum optimum;
  if (found) {
    optimum = std::move(*found);
  } else {
    optimum = branch_and_bound(model, space, objective, limits, watch);
  }

  require_countable(model, optimum);
  cost::Certificate& certificate = optimum.certificate;
  certificate.space = space.size();
  if (optimum.mapping) {
    const double value = key_of(objective, optimum.evaluation)[0];
    if (certificate.optimal) certificate.lower_bound = value;
    certificate.gap = value > 0 ? (value - certificate.lower_bound) / value : 0;
  }
  // With a limit on cycles it is the limit that leaves nothing, which no constraint explains.
  if (optimum.infeasible && limits.max_cycles == 0) explain_empty(model, mapspace, limits, optimum);
  certificate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return optimum;
}

}  // namespace orrery::nest
