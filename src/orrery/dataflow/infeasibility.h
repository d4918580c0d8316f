// Why no partition of any candidate fits: the smallest set of limits that cannot hold together, with the arithmetic.
#pragma once

#include <span>
#include <vector>

#include "orrery/cost/budget.h"
#include "orrery/dataflow/lower.h"
#include "orrery/dataflow/reason.h"

namespace orrery::dataflow {

// One candidate that was found impossible.
struct Attempt {
  const Setup* setup = nullptr;
  Mapping mapping;  // without configurations
};

// A kernel too large for SRAM (O1447) or for the cores (O1449) by itself, weights too large for DRAM (O1448); else the
// limits that together leave nothing (O1450): none of them can be left out. Of several candidates, the one that comes
// nearest is told. Where the budget is spent first, it is one of those looked at, and the limits may be more than need
// be.
std::vector<Reason> explain_infeasible(std::span<const Attempt> attempts, Generation generation,
                                       const machine::OperatorModel* operators = nullptr,
                                       const cost::Budget& budget = {});

}  // namespace orrery::dataflow
