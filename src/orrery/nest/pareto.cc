// The epsilon-constraint method (Haimes, Lasdon and Wismer, 1971): minimise energy, then cycles; forbid as
// many cycles as that took; repeat. Cycles are whole numbers, so each step removes exactly the points found,
// and the front is complete when nothing faster is left.
#include "orrery/nest/pareto.h"

#include <chrono>
#include <utility>

namespace orrery::nest {

ParetoFront pareto_front(const Model& model, const Mapspace& space, const SearchLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
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

}  // namespace orrery::nest
