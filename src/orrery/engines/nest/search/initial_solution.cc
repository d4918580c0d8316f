// The first mapping found by a depth-first walk (feasibility.h) has most loops outermost, since tiles of one word fit
// everywhere. It is then improved by the first of these changes that helps, until none does:
//     a prime factor of a dimension moves from the temporal loops of one level to those of another,
//     a level keeps one dataspace more or less,
//     a loop moves to the innermost place of its level,
//     a level takes another of its widest spatial factor vectors, the outermost level the loops that this leaves,
//     or another layout of them where neighbours hand on words.
// Where asked to, it then takes so many random changes of these kinds (simulated annealing: Kirkpatrick et al., Science
// 1983), and is improved again. Every change is checked against the map space and evaluated by Model::evaluate. Cost:
// some thousand evaluations.
#include "orrery/engines/nest/search/initial_solution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/space/feasibility.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr double kSecondsOfWalk = 0.1;  // granted beyond the budget, so that there is an answer
constexpr int kMostEvaluations = 6'000;
constexpr double kHot = 0.5, kCold = 0.005;  // relative rises that are still taken
constexpr std::size_t kMostSpreads = 24;     // of a level

class InitialSearch {
 public:
  InitialSearch(const Model& model, const Space& space, const std::vector<Metric>& objective, Count max_cycles,
                const base::Budget& budget, std::uint64_t seed)
      : model_(model),
        space_(space),
        objective_(objective),
        max_cycles_(max_cycles),
        clock_(budget, 4),
        linked_(model.options().link_transfers && model.may_link()),
        random_(0x9e3779b97f4a7c15 * (seed + 1) | 1) {
    for (const int d : space.dimensions())
      for (const auto& [prime, exponent] : base::prime_factors(model.einsum().dimensions[d].bound))
        primes_.emplace_back(d, prime);
  }

  bool begin(const Mapping& mapping) {
    best_ = mapping;
    if (!price(best_)) return false;
    excess_ = next_excess_, key_ = next_key_;
    evaluation_ = next_;
    return true;
  }

  void run() {
    for (bool better = true; better && !done();) {
      better = move_factors();
      better = toggle_keeps() || better;
      better = move_loops() || better;
      better = change_spreads() || better;
    }
  }

  // Random changes of all kinds, at first also for the worse. The same ones in every run.
  void anneal(int steps) {
    if (primes_.empty() || excess_ > 0) return;
    Mapping least = best_;
    Evaluation least_evaluation = evaluation_;
    Key least_key = key_;
    for (int k = 0; k < steps && !clock_.spent(); ++k) {
      const double heat = kHot * std::pow(kCold / kHot, static_cast<double>(k) / steps);
      Mapping next = best_;
      if (!change(next) || !allowed(next) || !price(next) || next_excess_ > 0) continue;
      const double rise = std::log(next_key_[0] / key_[0]);
      if (rise > 0 && static_cast<double>(draw(1 << 20)) / (1 << 20) >= std::exp(-rise / heat)) continue;
      best_ = std::move(next);
      key_ = next_key_;
      std::swap(evaluation_, next_);
      if (compare(key_, least_key, objective_.size()) < 0)
        least = best_, least_evaluation = evaluation_, least_key = key_;
    }
    best_ = std::move(least);
    evaluation_ = std::move(least_evaluation);
    key_ = least_key;
    evaluations_ = 0;
  }

  std::optional<InitialSolution> found() const {
    if (excess_ > 0) return std::nullopt;
    return InitialSolution{best_, evaluation_, key_};
  }

 private:
  bool done() { return evaluations_ >= kMostEvaluations || clock_.spent(); }

  bool price(const Mapping& mapping) {
    ++evaluations_;
    try {
      model_.evaluate(mapping, next_);
    } catch (const base::OverflowError&) {
      return false;
    }
    next_key_ = key_of(objective_, next_);
    next_excess_ = max_cycles_ > 0 ? std::max<Count>(0, next_.cycles - max_cycles_) : 0;
    return true;
  }

  // Whether the mapping respects the capacities and the constraints on factors.
  bool allowed(const Mapping& mapping) const {
    const std::size_t all = model_.einsum().dimensions.size();
    std::vector<Count> extents(all, 1);
    std::uint32_t kept = 0;
    for (int i = 0; i < space_.levels(); ++i) {
      const LevelMapping& level = mapping.levels[i];
      for (std::size_t d = 0; d < all; ++d) {
        const std::vector<Count>& factors = space_.temporal(i, static_cast<int>(d));
        if (!std::binary_search(factors.begin(), factors.end(), level.temporal[d])) return false;
        extents[d] *= level.spatial[d] * level.temporal[d];
      }
      kept |= level.keep;
      const auto capacity = space_.capacity(i);
      if (!capacity && space_.minimum_use(i) == 0) continue;
      Count words = 0;
      for (std::uint32_t rest = level.keep; rest != 0; rest &= rest - 1)
        words += space_.units(i, __builtin_ctz(rest)) * model_.einsum().volume(__builtin_ctz(rest), extents);
      if ((capacity && words > *capacity) || words < space_.minimum_use(i)) return false;
    }
    return kept + 1 == 1u << model_.einsum().dataspaces.size();
  }

  void order_loops(int i, LevelMapping& level, int innermost) const {
    std::vector<int> iterating;
    if (innermost >= 0 && level.temporal[innermost] > 1) iterating.push_back(innermost);
    for (const int d : level.temporal_order)
      if (d != innermost && level.temporal[d] > 1) iterating.push_back(d);
    level.temporal_order = space_.full_temporal_order(i, iterating);
  }

  std::size_t draw(std::size_t below) {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    return static_cast<std::size_t>(random_ % below);
  }

  // One random change; false where it changes nothing.
  bool change(Mapping& next) {
    const int levels = space_.levels();
    const int i = static_cast<int>(draw(static_cast<std::size_t>(levels)));
    LevelMapping& level = next.levels[i];
    const std::size_t kind = draw(linked_ ? 9 : 8);
    if (kind < 4) {
      const auto& [d, prime] = primes_[draw(primes_.size())];
      const int to = static_cast<int>(draw(static_cast<std::size_t>(levels)));
      if (to == i || level.temporal[d] % prime != 0) return false;
      level.temporal[d] /= prime;
      next.levels[to].temporal[d] *= prime;
      order_loops(i, level, -1);
      order_loops(to, next.levels[to], -1);
      return true;
    }
    if (kind == 4) {
      const std::uint32_t keep = level.keep ^ 1u << draw(model_.einsum().dataspaces.size());
      const std::vector<std::uint32_t>& masks = space_.keeps(i);
      if (std::find(masks.begin(), masks.end(), keep) == masks.end()) return false;
      level.keep = keep;
      return true;
    }
    if (kind == 5) {
      order_loops(i, level, static_cast<int>(primes_[draw(primes_.size())].first));
      return true;
    }
    if (kind == 8) {
      const std::vector<Layout> layouts = space_.layouts(i, level.spatial.data());
      if (layouts.size() < 2) return false;
      std::tie(level.spatial_order, level.split) = layouts[draw(layouts.size())];
      return true;
    }
    // The widest come first.
    const std::vector<SpatialChoice>& choices = space_.spatial(i);
    if (choices.size() == 1) return false;
    const double at = static_cast<double>(draw(1 << 20)) / (1 << 20);
    return spread(i, choices[static_cast<std::size_t>(at * at * static_cast<double>(choices.size()))], next);
  }

  bool take(const Mapping& mapping) {
    if (!allowed(mapping) || !price(mapping)) return false;
    if (next_excess_ > excess_) return false;
    if (next_excess_ == excess_ && compare(next_key_, key_, objective_.size()) >= 0) return false;
    best_ = mapping;
    excess_ = next_excess_, key_ = next_key_;
    std::swap(evaluation_, next_);
    return true;
  }

  bool move_factors() {
    bool better = false;
    for (const auto& [d, prime] : primes_)
      for (int from = space_.levels() - 1; from >= 0; --from)
        for (int to = 0; to < space_.levels(); ++to) {
          if (to == from || best_.levels[from].temporal[d] % prime != 0) continue;
          if (done()) return better;
          Mapping next = best_;
          next.levels[from].temporal[d] /= prime;
          next.levels[to].temporal[d] *= prime;
          order_loops(from, next.levels[from], -1);
          order_loops(to, next.levels[to], -1);
          better = take(next) || better;
        }
    return better;
  }

  bool toggle_keeps() {
    bool better = false;
    for (int i = 0; i < space_.levels(); ++i)
      for (std::size_t s = 0; s < model_.einsum().dataspaces.size(); ++s) {
        const std::uint32_t keep = best_.levels[i].keep ^ (1u << s);
        const std::vector<std::uint32_t>& masks = space_.keeps(i);
        if (std::find(masks.begin(), masks.end(), keep) == masks.end()) continue;
        if (done()) return better;
        Mapping next = best_;
        next.levels[i].keep = keep;
        better = take(next) || better;
      }
    return better;
  }

  bool move_loops() {
    bool better = false;
    for (int i = 0; i < space_.levels(); ++i)
      for (const int d : space_.dimensions()) {
        if (best_.levels[i].temporal[d] == 1) continue;
        if (done()) return better;
        Mapping next = best_;
        order_loops(i, next.levels[i], d);
        if (next.levels[i].temporal_order == best_.levels[i].temporal_order) continue;
        better = take(next) || better;
      }
    return better;
  }

  bool change_spreads() {
    bool better = false;
    for (int i = 0; i < space_.levels(); ++i) {
      const std::vector<SpatialChoice>& choices = space_.spatial(i);
      // Among equally wide ones, spread over the list.
      std::size_t wide = 1;
      while (wide < choices.size() && choices[wide].product * 2 >= choices[0].product) ++wide;
      const std::size_t step = std::max<std::size_t>(1, wide / kMostSpreads);
      for (std::size_t k = 0; k < wide; k += step) {
        if (done()) return better;
        Mapping next = best_;
        if (spread(i, choices[k], next)) better = take(next) || better;
      }
    }
    return better;
  }

  // What the new vector takes of a dimension comes from the temporal loops, outermost first; what it leaves goes there.
  bool spread(int i, const SpatialChoice& choice, Mapping& next) const {
    std::uint32_t iterating = 0;
    bool changed = false;
    for (std::size_t d = 0; d < next.levels[i].spatial.size(); ++d) {
      Count& here = next.levels[i].spatial[d];
      if (choice.factor[d] > 1) iterating |= 1u << d;
      if (here == choice.factor[d]) continue;
      changed = true;
      Count wanted = choice.factor[d] / std::gcd(here, choice.factor[d]);
      next.levels.back().temporal[d] *= here / std::gcd(here, choice.factor[d]);
      for (int level = space_.levels() - 1; level >= 0 && wanted > 1; --level) {
        const Count share = std::gcd(next.levels[level].temporal[d], wanted);
        next.levels[level].temporal[d] /= share;
        wanted /= share;
      }
      if (wanted > 1) return false;
      here = choice.factor[d];
    }
    if (!changed) return false;
    std::tie(next.levels[i].spatial_order, next.levels[i].split) = space_.full_spatial_order(i, iterating, choice.to_x);
    for (int level = 0; level < space_.levels(); ++level) order_loops(level, next.levels[level], -1);
    return true;
  }

  const Model& model_;
  const Space& space_;
  const std::vector<Metric>& objective_;
  const Count max_cycles_;
  base::Ticker clock_;
  std::vector<std::pair<int, Count>> primes_;  // each dimension's
  Mapping best_;
  Evaluation evaluation_, next_;
  Key key_{}, next_key_{};
  Count excess_ = 0, next_excess_ = 0;  // cycles beyond the most that are allowed
  int evaluations_ = 0;
  const bool linked_;
  std::uint64_t random_;
};

}  // namespace

std::optional<InitialSolution> initial_solution(const Model& model, const Space& space,
                                                const std::vector<Metric>& objective, Count max_cycles,
                                                const base::Budget& budget, int annealed, std::uint64_t seed) {
  const base::Budget walk({.seconds = kSecondsOfWalk, .memory = 0});
  const std::optional<Mapping> first = any_mapping(model.einsum(), space, walk);
  if (!first) return std::nullopt;
  InitialSearch search(model, space, objective, max_cycles, budget, seed);
  if (!search.begin(*first)) return std::nullopt;
  search.run();
  if (annealed > 0) {
    search.anneal(annealed);
    search.run();
  }
  return search.found();
}

}  // namespace orrery::nest
