// front(...): tokens/s that a user gets against tokens/s of an accelerator: what no deployment betters in both.
#pragma once

#include <vector>

#include "orrery/engines/serving/search/optimize.h"

namespace orrery::serving {

struct Front {
  std::vector<Found> points;  // from the fastest for users on; `users` of a group of attention each
  bool finished = true;       // false: the budget was spent
};

// Tokens/s of a user are 1 / tpot. Looks at one, two, four ... users of a group, in the place of the load's, up to the
// most sequences that run at once; of shapes and replicas at all of the space, within the limits.
Front front(const ServedModel& model, const Space& space, const ServiceLimits& limits, const Load& load,
            const base::Budget& budget, int threads);

}  // namespace orrery::serving
