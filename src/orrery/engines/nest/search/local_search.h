// A local search: a mapping is improved by single changes. Good answers early, with perfect factors or imperfect ones,
// and no bound.
#pragma once

#include <functional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// Takes from the outermost loops what goes beyond the bounds. False where the factors do not reach them.
bool trim(Mapping& mapping, const std::vector<base::Count>& bounds);

// Tries changes of the best mapping until none helps, kMostTries at most. `better` says whether a mapping is allowed
// and better than all before it.
void local_search(const Space& space, const std::vector<base::Count>& bounds, const Mapping& from,
                  const std::function<bool(const Mapping&)>& better, base::Ticker& clock);

}  // namespace orrery::nest
