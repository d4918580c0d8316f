// The epsilon-constraint method (Haimes, Lasdon and Wismer, 1971): minimise energy, then cycles; forbid as
// many cycles as that took; repeat. Cycles are whole numbers, so each step removes exactly the points found,
// and the front is complete when nothing faster is left.
#include "orrery/engines/nest/search/pareto.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "orrery/engines/nest/search/relaxed/link_front.h"

namespace orrery::nest {

ParetoFront pareto_front(const Model& model, const Mapspace& space, const SearchLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
  if (model.options().link_transfers && model.may_link())
    if (std::optional<ParetoFront> all = front_with_links(model, space, limits)) return std::move(*all);
  ParetoFront front;
  SearchLimits step = limits;
  for (;;) {
    if (limits.seconds > 0) {
      step.seconds = limits.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (step.seconds <= 0) {
        front.complete = false;
        return front;
      }
    }
    Optimum next = optimize(model, space, {Metric::kEnergy, Metric::kDelay}, step);
    front.interrupted = next.interrupted;
    front.out_of_memory = next.out_of_memory;
    if (!next.mapping) {
      front.complete = next.infeasible;
      front.infeasible = next.infeasible && front.points.empty();
      if (front.infeasible) front.points.push_back(std::move(next));
      return front;
    }
    const bool proven = next.certificate.optimal;
    step.max_cycles = next.evaluation.cycles - 1;
    front.points.push_back(std::move(next));
    if (!proven) {
      front.complete = false;
      return front;
    }
    if (step.max_cycles < 1) return front;
  }
}

void include(const Optimum& found, ParetoFront& front) {
  if (!found.mapping) return;
  const auto at_least_as_good = [](const Evaluation& a, const Evaluation& b) {
    return a.energy_pj <= b.energy_pj && a.cycles <= b.cycles;
  };
  double bound = 0;
  if (!front.points.empty() && !front.points.back().certificate.optimal)
    bound = front.points.back().certificate.lower_bound;
  for (const Optimum& point : front.points)
    if (at_least_as_good(point.evaluation, found.evaluation)) return;
  std::erase_if(front.points,
                [&](const Optimum& point) { return at_least_as_good(found.evaluation, point.evaluation); });
  Optimum point = found;
  const double energy_pj = found.evaluation.energy_pj;
  point.certificate.optimal = false;
  point.certificate.close(energy_pj, bound);
  const auto place = std::find_if(front.points.begin(), front.points.end(),
                                  [&](const Optimum& other) { return other.evaluation.energy_pj > energy_pj; });
  front.points.insert(place, std::move(point));
}

}  // namespace orrery::nest
