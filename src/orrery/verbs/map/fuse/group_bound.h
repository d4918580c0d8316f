// What no way to make groups of a chain comes below (block_groups.h).
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/verbs/map/fuse/block_groups.h"

namespace orrery::verbs {

// Whether the chips of all these operators allow what they hand on to stay in their common exchange level.
bool may_group(const std::vector<ChainLink>& chain, std::size_t first, std::size_t last);

// In the unit of the goal. `mapped`: the operators for the goal, then for least energy.
double chain_bound(const std::vector<ChainLink>& chain, const std::vector<MappedLayer>& mapped,
                   const GroupOptions& how);

}  // namespace orrery::verbs
