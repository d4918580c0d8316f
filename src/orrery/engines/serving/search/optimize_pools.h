// The best pair of pools (model/pools.h), of every kind of accelerators with every other.
#pragma once

#include <vector>

#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/search/optimize.h"

namespace orrery::serving {

struct FoundPools {
  std::size_t prompts_on = 0, decoding_on = 0;  // of the space's machines
  Pools pools;
  Service service;
  double value = 0;  // of the goal; less is better
};

struct OptimumPools {
  std::vector<FoundPools> best;   // in order, of each pair of shapes the best; empty: none is within the limits
  base::Certificate certificate;  // of the first one's value
  bool finished = true;           // false: the budget was spent
};

// Of the space: machines for either pool, base, and the degrees of either, each on its own; replicas of both are free
// within `most` of their machine. Of equal values the pair with fewer accelerators, then of less time between tokens,
// then the first one. The answer does not depend on the number of threads.
OptimumPools optimize_pools(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits,
                            const Load& load, const base::Budget& budget, const SearchOptions& options);

}  // namespace orrery::serving
