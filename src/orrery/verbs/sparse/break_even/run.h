// `orrery sparse break-even`: from which length and density on pruned attention is faster than dense attention here.
#pragma once

#include <string>
#include <vector>

#include "orrery/verbs/sparse/break_even/answer.h"
#include "orrery/verbs/sparse/break_even/request.h"

namespace orrery::verbs {

std::string name_of(SparseStructure structure);

// Throws InputError O1861 where PyTorch cannot be measured. What is done when the budget ends is kept.
BreakEven break_even(const BreakEvenRequest& request);

// The lines of points, which are in the order that BreakEven has them in.
std::vector<BreakEvenLine> lines_of(const std::vector<BreakEvenPoint>& points);

}  // namespace orrery::verbs
