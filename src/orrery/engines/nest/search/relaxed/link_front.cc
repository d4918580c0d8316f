// With links a search for one point is an enumeration, so one enumeration finds all points. It passes over what a point
// already found matches in both, by the bounds of partial_bound.h, and starts with the front that there is without
// links, in every layout.
#include "orrery/engines/nest/search/relaxed/link_front.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/relaxed/link_search.h"
#include "orrery/engines/nest/search/relaxed/partial_bound.h"

namespace orrery::nest {
namespace {

constexpr std::uint64_t kMostLooked = 4'000'000;            // mappings, whole and partial ones, without a limit of time
constexpr double kForSeeds = 1.0 / 8, kForFront = 2.0 / 3;  // parts of the time

class LinkFront {
 public:
  LinkFront(const Model& model, const Mapspace& mapspace, const Space& space)
      : model_(model),
        mapspace_(mapspace),
        space_(space),
        bound_(link_bound(model, space)),
        cheap_(model.einsum(), bound_.chip, bound_.options, model.reuse()),
        partial_(model, space) {}

  // Whether all mappings were looked at.
  bool run(const SearchLimits& limits, const base::Budget& budget) {
    seed(limits, budget);
    const base::Budget part(budget, budget.seconds_left() * kForFront);
    const EnumerationRules rules = {
        .layouts = true,
        .open =
            [&](const Mapping& mapping, int level) {
              const Key least = partial_.least(mapping, level, {Metric::kEnergy, Metric::kDelay});
              return !matched(least[0], least[1]);
            },
        .most = budget.limited() ? ~std::uint64_t{0} : kMostLooked};
    return enumerate(
               model_.einsum(), space_, [&](const Mapping& mapping) { return offer(mapping), true; }, part, rules) &&
           space_.complete();
  }

  std::vector<Optimum> take() {
    std::sort(points_.begin(), points_.end(),
              [](const Optimum& a, const Optimum& b) { return a.evaluation.energy_pj < b.evaluation.energy_pj; });
    for (Optimum& point : points_) {
      point.certificate.optimal = true;
      point.certificate.space = space_.size();
      point.certificate.evaluated = evaluated_;
      point.certificate.close(point.evaluation.energy_pj, point.evaluation.energy_pj);
    }
    return std::move(points_);
  }

 private:
  bool matched(double energy_pj, double cycles) const {
    return std::any_of(points_.begin(), points_.end(), [&](const Optimum& point) {
      return point.evaluation.energy_pj <= energy_pj * (1 + kEqual) && point.evaluation.needed_cycles() <= cycles;
    });
  }
  bool matched(const Evaluation& found) const { return matched(found.energy_pj, found.needed_cycles()); }

  void offer(const Mapping& mapping) {
    cheap_.evaluate(mapping, scratch_);
    if (matched(scratch_)) return;
    ++evaluated_;
    model_.evaluate(mapping, scratch_);
    if (matched(scratch_)) return;
    std::erase_if(points_, [&](const Optimum& point) {
      return scratch_.energy_pj <= point.evaluation.energy_pj * (1 + kEqual) &&
             scratch_.needed_cycles() <= point.evaluation.needed_cycles();
    });
    Optimum point;
    point.mapping = mapping;
    point.evaluation = scratch_;
    points_.push_back(std::move(point));
  }

  void seed(SearchLimits limits, const base::Budget& budget) {
    limits.progress = nullptr;
    if (budget.limited()) limits.seconds = budget.seconds_left() * kForSeeds;
    ModelOptions options = model_.options();
    options.link_transfers = false;
    const Model apart(model_.einsum(), model_.chip(), options, model_.reuse());
    for (const Model* model : {&apart, &cheap_}) {
      for (const Optimum& point : pareto_front(*model, mapspace_, limits).points) {
        if (!point.mapping) continue;
        for_each_layout(
            space_, *point.mapping,
            [&](const Mapping& laid) {
              return perfect(laid) && is_legal(model_.einsum(), model_.chip(), laid) &&
                     is_allowed(model_.einsum(), model_.chip(), laid, mapspace_);
            },
            [&](const Mapping& laid) {
              if (!budget.spent()) offer(laid);
            });
      }
    }
  }

  const Model& model_;
  const Mapspace& mapspace_;
  const Space& space_;
  const LinkBound bound_;
  const Model cheap_;
  PartialBound partial_;
  std::vector<Optimum> points_;
  Evaluation scratch_;
  std::uint64_t evaluated_ = 0;
};

}  // namespace

std::optional<ParetoFront> front_with_links(const Model& model, const Mapspace& mapspace, const SearchLimits& limits) {
  const base::Stopwatch clock;
  const base::Budget budget(limits, limits.searches);
  const Space space(model.einsum(), model.chip(), mapspace, model.shape(), {}, budget);
  LinkFront search(model, mapspace, space);
  if (!search.run(limits, budget)) return std::nullopt;
  ParetoFront front;
  front.points = search.take();
  if (front.points.empty()) return std::nullopt;
  for (Optimum& point : front.points) point.certificate.seconds = clock.seconds();
  return front;
}

}  // namespace orrery::nest
