// The search over mappings whose factors leave a remainder (mapping.h): every factor is any whole number.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/search/search.h"

namespace orrery::nest {

struct ImperfectOptimum {
  Optimum optimum;
  std::optional<Evaluation> perfect;  // of the best mapping with perfect factors; nothing: none was found
};

// As optimize(). The answer is at least as good as those with perfect and with padded factors, where these obey the
// constraints on the size as it is. Without a limit of time the search ends after kMostSteps steps.
ImperfectOptimum optimize_imperfect(const Model& model, const Mapspace& space, const std::vector<Metric>& objective,
                                    const SearchLimits& limits);

// The cost of `known` or of what single changes of it come to, some ten thousand at most.
Evaluation improved_imperfect(const Model& model, const Mapspace& space, const std::vector<Metric>& objective,
                              const Mapping& known);

}  // namespace orrery::nest
