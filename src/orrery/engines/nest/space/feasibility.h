// Whether a map space contains any mapping at all, whatever its cost.
#pragma once

#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

enum class Feasible { kNo, kYes, kUnknown };  // kUnknown: the budget was spent, or `space` is not complete

Feasible feasible(const workload::Einsum& einsum, const Space& space, const base::Budget& budget = {});

// Any mapping, probably a slow one; nothing where there is none or the budget was spent.
std::optional<Mapping> any_mapping(const workload::Einsum& einsum, const Space& space, const base::Budget& budget);

// The tiles of a level, in a mapping that makes their sum least.
struct LeastUse {
  base::Count words = 0;
  std::uint32_t keep = 0;            // dataspaces kept
  std::vector<base::Count> extents;  // per dimension, at that level
};

// Over all mappings of `space` (whose capacity limit at `level` should be lifted): the least words that
// `level` must hold. Nothing when the space is empty, or not known when the budget is spent.
std::optional<LeastUse> least_use(const workload::Einsum& einsum, const Space& space, int level,
                                  const base::Budget& budget = {});

}  // namespace orrery::nest
