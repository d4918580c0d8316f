// Convolution windows overlap, so a dimension can be partly relevant and the closed form's order classes
// do not apply. The space is enumerated, each mapping evaluated by the general recursion, under the
// caller's time limit; what no mapping can beat is taken from the compulsory traffic alone:
//     energy >= computes + one access per operation at the innermost allowed keeper, without any reuse cost
//     cycles >= operations / the largest number of compute units the constraints let work at once
#include "orrery/nest/sliding_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "orrery/nest/enumerate.h"
#include "orrery/nest/explain.h"
#include "orrery/nest/feasibility.h"
#include "orrery/nest/objective.h"

namespace orrery::nest {

namespace {

double floor_of(const Model& model, const Space& space, Metric metric) {
  const double operations = static_cast<double>(model.einsum().operations());
  double units = 1;
  for (int i = 0; i < space.levels(); ++i) {
    double widest = 1;
    for (const SpatialChoice& choice : space.spatial(i)) widest = std::max(widest, static_cast<double>(choice.product));
    units *= widest;
  }
  const double cycles = std::ceil(operations / units);
  const double energy_pj = operations * model.chip().compute.compute_pj;
  return metric == Metric::kDelay ? cycles : metric == Metric::kEnergy ? energy_pj : energy_pj * cycles / 1e12;
}

}  // namespace

Optimum optimize_sliding(const Model& model, const Mapspace& mapspace, const std::vector<Metric>& objective,
                         const SearchLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const Space space(model.einsum(), model.chip(), mapspace, model.shape());
  Optimum optimum;
  Key best{kNever, kNever, kNever};
  bool finished = true;
  Evaluation evaluation;
  const bool feasible = is_feasible(model.einsum(), model.shape(), space);
  if (feasible)
    enumerate(model.einsum(), space, [&](const Mapping& mapping) {
      ++optimum.certificate.evaluated;
      model.evaluate(mapping, evaluation);
      const Key values = key_of(objective, evaluation);
      const bool in_time = limits.max_cycles == 0 || evaluation.cycles <= limits.max_cycles;
      if (in_time && values < best) {
        best = values;
        optimum.mapping = mapping;
        optimum.evaluation = evaluation;
      }
      optimum.interrupted = limits.stop && limits.stop->load();
      finished = !optimum.interrupted && !(limits.seconds > 0 && elapsed() > limits.seconds);
      return finished;
    });
  cost::Certificate& certificate = optimum.certificate;
  certificate.space = space.size();
  certificate.optimal = finished && optimum.mapping;
  if (optimum.mapping) {
    certificate.lower_bound = finished ? best[0] : std::min(best[0], floor_of(model, space, objective[0]));
    certificate.gap = best[0] > 0 ? (best[0] - certificate.lower_bound) / best[0] : 0;
  } else if (finished) {
    optimum.infeasible = true;
    if (limits.max_cycles == 0) explain_empty(model, mapspace, limits, optimum);
  }
  certificate.seconds = elapsed();
  return optimum;
}

}  // namespace orrery::nest
