// Every mapping of a map space, one after the other. Slow and simple: searches are tested against it, and it searches
// the spaces that have no closed form.
#pragma once

#include <functional>

#include "orrery/base/limits/budget.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

// Calls `use` for every legal and allowed mapping: all factorisations, all orders of the loops that
// iterate, one X/Y layout per spatial factor vector (the layout never changes a cost), all bypasses.
// Stops when `use` returns false or `budget` is spent; returns whether it ran to the end.
bool enumerate(const workload::Einsum& einsum, const Space& space, const std::function<bool(const Mapping&)>& use,
               const base::Budget& budget = {});

// Calls `use` for `mapping` with its loops in space in every order and laid along X and Y in every way that `fits`:
// what enumerate() leaves out, for costs that see it.
void for_each_layout(const Space& space, const Mapping& mapping, const std::function<bool(const Mapping&)>& fits,
                     const std::function<void(const Mapping&)>& use);

}  // namespace orrery::nest
