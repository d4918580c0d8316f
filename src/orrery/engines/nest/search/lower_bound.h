// Bounds that hold for every mapping, however little of the space was searched.
#pragma once

#include <algorithm>
#include <cmath>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// Instances below level i that may work at once: as many as the chip has, or as constraints let where all of the space
// is listed.
inline double widest_fanout(const Model& model, const Space& space, int i) {
  const double fanout = static_cast<double>(model.chip().fanout_x(i)) * static_cast<double>(model.chip().fanout_y(i));
  double widest = space.complete() ? 1 : fanout;
  for (const SpatialChoice& choice : space.spatial(i)) widest = std::max(widest, static_cast<double>(choice.product));
  return widest;
}

// Every operation computed once, on that many units.
inline double lower_bound_of(const workload::Einsum& einsum, const machine::Chip& chip, double units, Metric metric) {
  const double operations = static_cast<double>(einsum.operations());
  const double cycles = std::ceil(operations / units);
  const double energy_pj = operations * chip.compute.compute_pj;
  return metric == Metric::kDelay ? cycles : metric == Metric::kEnergy ? energy_pj : energy_pj * cycles / 1e12;
}

// On as many units as may work at once.
inline double lower_bound_of(const Model& model, const Space& space, Metric metric) {
  double units = 1;
  for (int i = 0; i < space.levels(); ++i) units *= widest_fanout(model, space, i);
  return lower_bound_of(model.einsum(), model.chip(), units, metric);
}

}  // namespace orrery::nest
