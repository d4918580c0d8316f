// The whole trade-off between energy and time.
#pragma once

#include <vector>

#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

struct ParetoFront {
  std::vector<Optimum> points;  // energy rising, cycles falling; no other mapping is at least as good in both
  bool complete = true;         // false: a limit ended the search before the last point
  bool infeasible = false;
  bool interrupted = false;    // SearchLimits::stop ended the search
  bool out_of_memory = false;  // not complete because memory ran out
};

// The mappings that no other one dominates in energy and cycles, one per pair of values. Each point is an
// exact search of its own: least energy among the mappings faster than the last point's. Cost: one search per
// point; with links one enumeration of all, where it ends (relaxed/link_front.h).
ParetoFront pareto_front(const Model& model, const Mapspace& space, const SearchLimits& limits = {});

// Adds a mapping found by another search to a front that a limit left incomplete, unless a point is at least
// as good in both; removes the points that it matches or beats in both. The only bound known for its energy is that of
// the front's last, unproven point.
void include(const Optimum& found, ParetoFront& front);

}  // namespace orrery::nest
