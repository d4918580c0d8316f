// What neighbours hand on depends on how loops in space are laid out and on every step in time. What bounds it is a
// factor. Let a fan-out have f instances. Of instances that hold tiles, one at least has no neighbour in the direction
// in which the tiles move, and reads from above: at least 1 / f of the reads without links is left. Compute units, and
// instances without temporal reuse, may all want again what a neighbour had: of theirs nothing is sure to be left. A
// level that passes requests on divides by f at each fan-out. What comes from neighbours is read and filled once more
// in their own level, never less than without links, but as Timeloop takes the mean of all instances there, only 1 / f
// of the fills is sure. Thus the optimum without links on a chip whose prices and ports are scaled by these shares is
// below every mapping. Where that is far off, partial_bound.h is closer, and prunes the enumeration.
#include "orrery/engines/nest/search/relaxed/link_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/search/lower_bound.h"
#include "orrery/engines/nest/search/relaxed/relaxed_search.h"

namespace orrery::nest {

namespace {

// Mappings, whole and partial ones, that are enumerated without a limit of time, and rounds of random changes before.
// Both are divided by the instances that are followed (kInstances as one more).
constexpr std::uint64_t kMostFollowed = 400'000, kFirstRounds = 4, kInstances = 4;
constexpr double kFew = 10'000;  // mappings that are enumerated sooner than improved
// Parts of the time: the search without links, its bound, and, of what is then left, enumeration.
constexpr double kForFirst = 1.0 / 3, kForBound = 1.0 / 4, kForEnumeration = 2.0 / 3;
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
  std::vector<double> widest;
  for (int i = 0; i < levels; ++i) widest.push_back(widest_fanout(model, space, i));
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

class LinkSearch : private RelaxedSearch {
 public:
  LinkSearch(const Model& model, const Mapspace& mapspace, const Space& space, const std::vector<Metric>& objective,
             const SearchRules& rules, const base::Budget& budget)
      : RelaxedSearch(model, model.chip(), mapspace, space, objective, rules, budget),
        scaled_(link_bound(model, space)),
        cheap_(model.einsum(), scaled_.chip, scaled_.options, model.reuse()) {
    partial_.emplace(model, space);
  }

  Optimum run() {
    const std::vector<Metric>& objective = incumbent_.objective();
    const Model apart(model_.einsum(), model_.chip(), without_links(model_.options()), model_.reuse());
    if (!scaled_.any) return reprice(optimize(apart, mapspace_, objective, rules_));
    Optimum first = relaxed(apart, objective, kForFirst, rules_);
    if (first.infeasible || (rules_.give_way && first.out_of_memory)) return first;
    if (first.mapping) offer_layouts(*first.mapping);
    const double bound = bound_of_first_metric();
    std::uint64_t effort = 1;
    for (int i = 0; i < space_.levels(); ++i)
      effort += static_cast<std::uint64_t>(chip_.fanout_x(i) * chip_.fanout_y(i)) / kInstances;
    bool searched = false;
    if (!proven_by(bound)) {
      improve();
      if (space_.size() > kFew) anneal(static_cast<int>(std::max<std::uint64_t>(1, kFirstRounds / effort)));
    }
    if (!proven_by(bound)) {
      const base::Budget part(budget_, budget_.seconds_left() * kForEnumeration);
      searched = enumerate_all(
          {.layouts = true, .most = budget_.limited() ? ~std::uint64_t{0} : kMostFollowed / effort}, part);
      if (!searched && budget_.limited()) anneal(std::numeric_limits<int>::max());
    }
    return answer(searched || proven_by(bound), bound);
  }

 private:
  // Neighbours are followed only where the mapping beats the best on the scaled chip, without them.
  const Evaluation* price(const Mapping& mapping) override {
    cheap_.evaluate(mapping, scratch_);
    if (rules_.prune_by_bound && incumbent_.drop(key_of(incumbent_.objective(), scratch_))) return nullptr;
    model_.evaluate(mapping, scratch_);
    return &scratch_;
  }

  // The space has no place for links: their layouts differ in nothing.
  Optimum reprice(Optimum found) const {
    if (found.mapping) found.evaluation = model_.evaluate(*found.mapping);
    return found;
  }

  double bound_of_first_metric() {
    SearchRules rules = rules_;
    rules.explain = false;
    rules.progress = nullptr;
    const Metric first = incumbent_.objective()[0];
    const Optimum least = relaxed(cheap_, {first}, kForBound, rules);
    if (least.mapping) offer_layouts(*least.mapping);
    return std::max(least.certificate.lower_bound, space_.possible() ? partial_->least({first})[0] : 0);
  }

  // Whether nothing better is left. Of several metrics the bound knows the first only.
  bool proven_by(double bound) const {
    const double best = incumbent_.best()[0];
    return bound > best * (1 + kEqual) || (incumbent_.objective().size() == 1 && bound >= best * (1 - kEqual));
  }

  const LinkBound scaled_;
  const Model cheap_;
  Evaluation scratch_;
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
  const std::vector<Metric> wanted = objective.empty() ? std::vector{Metric::kEdp} : objective;
  const Space space(model.einsum(), model.chip(), mapspace, model.shape(), {}, budget);
  Optimum optimum = LinkSearch(model, mapspace, space, wanted, limits, budget).run();
  require_countable(model, optimum);
  optimum.certificate.seconds = clock.seconds();
  return optimum;
}

}  // namespace orrery::nest
