// Every mapping of a map space, one after the other. Slow and simple: searches are tested against it, and it searches
// the spaces that have no closed form.
#pragma once

#include <cstdint>
#include <functional>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

struct EnumerationRules {
  bool layouts = false;  // loops in space in every layout, not one: for costs that see it (Space::layouts)
  // Asked with the loops outside of a level, and what it and the levels outside keep. What is left iterates at the
  // level, where nothing is spread, and further in nothing is kept. False: no such mapping is wanted.
  std::function<bool(const Mapping&, int level)> open = {};
  std::uint64_t most = ~std::uint64_t{0};  // mappings, whole ones and such, after which it stops
};

// Calls `use` for every legal and allowed mapping: all factorisations, all orders of the loops that
// iterate, one X/Y layout per spatial factor vector (only links see it), all bypasses.
// Stops when `use` returns false or `budget` is spent; returns whether it ran to the end.
bool enumerate(const workload::Einsum& einsum, const Space& space, const std::function<bool(const Mapping&)>& use,
               const base::Budget& budget = {}, const EnumerationRules& rules = {});

// Calls `use` for `mapping` in every layout of its loops in space, if that `fits`.
void for_each_layout(const Space& space, const Mapping& mapping, const std::function<bool(const Mapping&)>& fits,
                     const std::function<void(const Mapping&)>& use);

}  // namespace orrery::nest
