// Whether a map space holds any mapping at all, costs apart.
#pragma once

#include <optional>
#include <vector>

#include "orrery/nest/space.h"
#include "orrery/workload/einsum.h"

namespace orrery::nest {

// Some mapping exists.
bool is_feasible(const workload::Einsum& einsum, const Shape& shape, const Space& space);

// The tiles of a level, in a mapping that makes their sum least.
struct LeastUse {
  base::Count words = 0;
  std::uint32_t keep = 0;            // dataspaces kept
  std::vector<base::Count> extents;  // per dimension, at that level
};

// Over all mappings of `space` (whose capacity limit at `level` should be lifted): the least words that
// `level` must hold. Nothing when the space is empty.
std::optional<LeastUse> least_use(const workload::Einsum& einsum, const Shape& shape, const Space& space, int level);

}  // namespace orrery::nest
