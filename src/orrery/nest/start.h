// A mapping found quickly, in case a search is ended before it has found one itself.
#pragma once

#include <optional>
#include <vector>

#include "orrery/cost/budget.h"
#include "orrery/nest/objective.h"
#include "orrery/nest/search.h"
#include "orrery/nest/space.h"

namespace orrery::nest {

struct Start {
  Mapping mapping;
  Evaluation evaluation;
  Key key{};
};

// Nothing if none was found in a tenth of a second; there may be none. If `budget` has time left, the mapping is
// improved by single changes, and by `annealed` random ones.
std::optional<Start> start(const Model& model, const Space& space, const std::vector<Metric>& objective,
                           base::Count max_cycles, const cost::Budget& budget, int annealed = 0);

}  // namespace orrery::nest
