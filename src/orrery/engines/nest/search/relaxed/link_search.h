// The search where instances may take words from their neighbours (links.h).
#pragma once

#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// As optimize(), for a model that has link transfers.
Optimum optimize_with_links(const Model& model, const Mapspace& mapspace, const std::vector<Metric>& objective,
                            const SearchRules& limits);

// A chip and a model without links on which no mapping of the space costs more, or takes longer, than with links.
struct LinkBound {
  machine::Chip chip;
  ModelOptions options;
  bool any = false;  // whether links may save anything at all
};
LinkBound link_bound(const Model& model, const Space& space);

}  // namespace orrery::nest
