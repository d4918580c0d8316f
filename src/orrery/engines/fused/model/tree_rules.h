// Which loop trees are allowed, but for capacity.
#pragma once

#include <vector>

#include "orrery/engines/fused/model/evaluate.h"

namespace orrery::fused {

// Shape, hierarchy, fan-outs and what each branch is told, looked at alone; then what branches agree on.
std::vector<Fault> broken_rules(const Problem& problem, const Tree& tree);

// Whether broken_rules has a fault that makes counting meaningless.
bool countable(const std::vector<Fault>& faults);

}  // namespace orrery::fused
