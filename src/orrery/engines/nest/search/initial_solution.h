// A mapping found quickly, in case a search is ended before it has found one itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

struct InitialSolution {
  Mapping mapping;
  Evaluation evaluation;
  Key key{};
};

// Nothing if none was found in a tenth of a second; there may be none. If `budget` has time left, the mapping is
// improved by single changes, and by `annealed` random ones, which `seed` draws.
std::optional<InitialSolution> initial_solution(const Model& model, const Space& space,
                                                const std::vector<Metric>& objective, base::Count max_cycles,
                                                const base::Budget& budget, int annealed = 0, std::uint64_t seed = 0);

}  // namespace orrery::nest
