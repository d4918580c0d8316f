// A second opinion on an answer, by other means.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::verbs {

// What a check of an answer came to.
struct Certified {
  bool finished = false;  // false: a limit ended the check, or there was no proof to check
  bool agrees = false;    // when finished
  std::string complaint;  // when finished and not agreeing: what differs
  bool interrupted = false;
  bool out_of_memory = false;  // not finished for want of memory
  double seconds = 0;
};

// Checks that the mapping can run, obeys the constraints and costs what `optimum` says, and searches again by
// branch and bound alone, without the lattice of divisors and without dominance: slowly, and sharing with the
// first search only the cost model and the bounds of partial mappings. The values of the objective must agree
// to 1e-11, or both searches must find the space empty.
Certified certify(const nest::Model& model, const nest::Mapspace& space, const std::vector<nest::Metric>& objective,
                  const nest::Optimum& optimum, nest::SearchLimits limits);

}  // namespace orrery::verbs
