// What neighbours hand on depends on how loops in space are laid out and on every step in time, so that no other search
// here can price it. Two things bound it:
//
//   - A factor. Let a fan-out have f instances. Of instances that hold tiles, one at least has no neighbour in the
//     direction in which the tiles move, and reads from above: at least 1 / f of the reads without links is left.
//     Compute units, and instances without temporal reuse, may all want again what a neighbour had: of theirs nothing
//     is sure to be left. A level that passes requests on divides by f at each fan-out. What comes from neighbours is
//     read and filled once more in their own level, never less than without links, but as Timeloop takes the mean of
//     all instances there, only 1 / f of the fills is sure. Thus the optimum without links on a chip whose prices and
//     ports are scaled by these shares is below every mapping.
//   - Enumeration, of up to kEnumerable mappings. Those that cost as much as the best one on the scaled chip are passed
//     over; of the others every layout in space is priced.
//
// Before, single changes improve what the search without links has found. Cost: a microsecond a mapping enumerated, up
// to milliseconds for each whose steps are followed.
#include "orrery/engines/nest/search/relaxed/link_search.h"

#include <algorithm>
#include <utility>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/floor.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/remainder/rest_climb.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr double kEnumerable = 5'000'000;
constexpr std::uint64_t kMostFollowed = 200'000;  // mappings whose steps are followed, without a limit of time
// Parts of the time: the search without links, its bound, and improving by single changes.
constexpr double kForFirst = 1.0 / 3, kForBound = 1.0 / 4, kForClimb = 1.0 / 3;
// Words of a mean are rounded to whole ones: of 1.5 and more two thirds are left, of fills rounded down a half.
constexpr double kRoundedWords = 2.0 / 3, kRoundedDown = 1.0 / 2;

ModelOptions without_links(ModelOptions options) {
  options.link_transfers = false;
  return options;
}

// What is sure to be left of words without links.
struct Shares {
  std::vector<double> reads, fills;  // by level
  bool any = false;                  // whether links may save anything at all
};

Shares shares_of(const Model& model, const Space& space) {
  const int levels = space.levels();
  const int dataspaces = static_cast<int>(model.einsum().dataspaces.size());
  Shares shares;
  shares.reads.assign(levels, 1);
  shares.fills.assign(levels, 1);
  std::vector<double> widest(levels, 1);
  for (int i = 0; i < levels; ++i) {
    if (!space.complete())
      widest[i] = static_cast<double>(model.chip().fanout_x(i)) * static_cast<double>(model.chip().fanout_y(i));
    for (const SpatialChoice& choice : space.spatial(i))
      widest[i] = std::max(widest[i], static_cast<double>(choice.product));
  }
  for (int s = 0; s < dataspaces; ++s) {
    const bool overlapping = model.shape().overlapping[s], read_write = model.einsum().dataspaces[s].read_write;
    double left = 1;  // of what the innermost levels that may pass it on ask for, the compute units at first
    for (int i = 0; i < levels; ++i) {
      bool may = false, must = true;
      for (const std::uint32_t keep : space.keeps(i)) {
        may = may || (keep >> s & 1);
        must = must && (keep >> s & 1);
      }
      const ReuseRules rules = model.reuse().empty() ? ReuseRules{} : model.reuse()[i];
      const bool again = i == 0 || (!model.reuse().empty() && (model.reuse()[i - 1].no_temporal_reuse >> s & 1));
      if (widest[i] > 1 && !(rules.no_links >> s & 1) && (again || overlapping)) {
        shares.any = true;
        left *= again || read_write ? 0 : kRoundedWords / widest[i];
        if (i > 0) shares.fills[i - 1] = read_write ? 0 : std::min(shares.fills[i - 1], kRoundedDown / widest[i]);
      }
      if (may) shares.reads[i] = std::min(shares.reads[i], left);
      if (must) left = 1;
    }
  }
  return shares;
}

machine::Chip scaled(const machine::Chip& original, const Shares& shares) {
  machine::Chip chip = original;
  const auto widen = [](std::optional<double>& words_per_cycle, double left) {
    if (left <= 0)
      words_per_cycle.reset();
    else if (words_per_cycle)
      *words_per_cycle /= left;
  };
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    machine::Storage& storage = chip.storages[i];
    // A level that does not coalesce is filled with what it is asked for.
    const double reads = shares.reads[i], fills = std::min(shares.fills[i], reads);
    storage.energy.read_pj *= reads;
    storage.energy.update_pj *= reads;
    storage.energy.write_pj *= fills;
    widen(storage.read_words_per_cycle, reads);
    widen(storage.write_words_per_cycle, fills);
    widen(storage.shared_words_per_cycle, fills);
  }
  for (machine::Network& network : chip.networks) network.energy_pj.clear();
  return chip;
}

class LinkSearch {
 public:
  LinkSearch(const Model& model, const Mapspace& mapspace, std::vector<Metric> objective, const SearchRules& limits,
             const base::Budget& budget)
      : model_(model),
        mapspace_(mapspace),
        objective_(std::move(objective)),
        limits_(limits),
        budget_(budget),
        space_(model.einsum(), model.chip(), mapspace, model.shape(), {}, budget),
        scaled_(link_bound(model, space_)),
        cheap_(model.einsum(), scaled_.chip, scaled_.options, model.reuse()) {
    if (limits.beat) best_ = key_of(objective_, *limits.beat);
  }

  Optimum run() {
    const Model apart(model_.einsum(), model_.chip(), without_links(model_.options()), model_.reuse());
    if (!scaled_.any) return reprice(optimize(apart, mapspace_, objective_, limits_));
    SearchRules rules = limits_;
    if (budget_.limited()) rules.seconds = std::max(1e-3, budget_.seconds_left() * kForFirst);
    rules.max_cycles = 0;
    rules.beat = nullptr;
    Optimum first = optimize(apart, mapspace_, objective_, rules);
    if (first.infeasible || (limits_.give_way && first.out_of_memory)) return first;
    optimum_.interrupted = first.interrupted;
    optimum_.out_of_memory = first.out_of_memory;
    if (first.mapping) offer_layouts(*first.mapping);
    const double bound = bound_of(rules);
    bool searched = false;
    if (!proven_by(bound)) {
      climb();
      searched = !proven_by(bound) && enumerate_all();
    }
    finish(bound, searched);
    return std::move(optimum_);
  }

 private:
  // The space has no place for links: their layouts differ in nothing.
  Optimum reprice(Optimum found) const {
    if (found.mapping) found.evaluation = model_.evaluate(*found.mapping);
    return found;
  }

  bool runs(const Mapping& mapping) const {
    return perfect(mapping) && is_legal(model_.einsum(), model_.chip(), mapping) &&
           is_allowed(model_.einsum(), model_.chip(), mapping, mapspace_);
  }

  bool offer(const Mapping& mapping) {
    model_.evaluate(mapping, scratch_);
    ++evaluated_;
    if (limits_.max_cycles > 0 && scratch_.needed_cycles() > static_cast<double>(limits_.max_cycles)) return false;
    const Key key = key_of(objective_, scratch_);
    if (compare(key, best_, objective_.size()) >= 0) return false;
    best_ = key;
    optimum_.mapping = mapping;
    optimum_.evaluation = scratch_;
    return true;
  }

  bool offer_layouts(const Mapping& mapping) {
    bool better = false;
    for_each_layout(
        space_, mapping, [&](const Mapping& laid) { return runs(laid); },
        [&](const Mapping& laid) { better = (!budget_.spent() && offer(laid)) || better; });
    return better;
  }

  // No mapping is below it in the first metric.
  double bound_of(SearchRules rules) {
    if (budget_.limited()) rules.seconds = std::max(1e-3, budget_.seconds_left() * kForBound);
    rules.explain = false;
    rules.progress = nullptr;
    const Optimum least = optimize(cheap_, mapspace_, {objective_[0]}, rules);
    if (least.mapping) offer_layouts(*least.mapping);
    optimum_.interrupted = optimum_.interrupted || least.interrupted;
    optimum_.out_of_memory = optimum_.out_of_memory || least.out_of_memory;
    return std::max(least.certificate.lower_bound, floor_of(model_, space_, objective_[0]));
  }

  // Whether nothing better is left. Of several metrics the bound knows the first only.
  bool proven_by(double bound) const {
    return bound > best_[0] * (1 + kEqual) || (objective_.size() == 1 && bound >= best_[0] * (1 - kEqual));
  }

  void climb() {
    if (!optimum_.mapping) return;
    const base::Budget part(budget_, budget_.seconds_left() * kForClimb);
    base::Ticker clock(part, 4);
    std::vector<Count> bounds;
    for (const workload::Dimension& dimension : model_.einsum().dimensions) bounds.push_back(dimension.bound);
    const Mapping from = *optimum_.mapping;
    rests::climb(
        space_, bounds, from,
        [&](const Mapping& mapping) { return runs(mapping) && promising(mapping) && offer(mapping); }, clock);
  }

  bool promising(const Mapping& mapping) {
    cheap_.evaluate(mapping, scratch_);
    return compare(key_of(objective_, scratch_), best_, objective_.size()) < 0;
  }

  bool enumerate_all() {
    if (!space_.complete() || space_.size() > kEnumerable) return false;
    return enumerate(
        model_.einsum(), space_,
        [&](const Mapping& mapping) {
          if (promising(mapping)) offer_layouts(mapping);
          return !budget_.spent() && (budget_.limited() || evaluated_ < kMostFollowed);
        },
        budget_);
  }

  void finish(double bound, bool searched) {
    const bool proven = searched || proven_by(bound);
    optimum_.interrupted = optimum_.interrupted || budget_.interrupted();
    optimum_.out_of_memory = optimum_.out_of_memory || budget_.out_of_memory();
    optimum_.infeasible = proven && !optimum_.mapping;
    base::Certificate& certificate = optimum_.certificate;
    certificate.optimal = proven && optimum_.mapping;
    certificate.space = space_.size();
    certificate.evaluated = evaluated_;
    certificate.lower_bound = bound;
    if (optimum_.mapping) certificate.close(best_[0], std::min(bound, best_[0]));
  }

  const Model& model_;
  const Mapspace& mapspace_;
  const std::vector<Metric> objective_;
  const SearchRules& limits_;
  const base::Budget& budget_;
  const Space space_;
  const LinkBound scaled_;
  const Model cheap_;
  Key best_{kNever, kNever, kNever};
  Evaluation scratch_;
  std::uint64_t evaluated_ = 0;
  Optimum optimum_;
};

}  // namespace

LinkBound link_bound(const Model& model, const Space& space) {
  const Shares shares = shares_of(model, space);
  LinkBound bound{scaled(model.chip(), shares), without_links(model.options()), shares.any};
  bound.options.fractional_blocks = true;
  bound.options.throttle_in_doubles = false;
  return bound;
}

Optimum optimize_with_links(const Model& model, const Mapspace& mapspace, const std::vector<Metric>& objective,
                            const SearchRules& limits) {
  const base::Stopwatch clock;
  const base::Budget budget(limits, limits.searches);
  std::vector<Metric> wanted = objective;
  if (wanted.empty()) wanted = {Metric::kEdp};
  Optimum optimum = LinkSearch(model, mapspace, std::move(wanted), limits, budget).run();
  require_countable(model, optimum);
  optimum.certificate.seconds = clock.seconds();
  return optimum;
}

}  // namespace orrery::nest
