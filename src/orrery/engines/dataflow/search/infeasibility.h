// Why no partition of any candidate fits: a minimal set of contradicting limits, with the arithmetic.
#pragma once

#include <span>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/search/reason.h"

namespace orrery::dataflow {

// One candidate that was found impossible.
struct Attempt {
  const Setup* setup = nullptr;
  Mapping mapping;  // without configurations
};

// A kernel too large for SRAM (O1447) or for the cores (O1449) by itself, weights too large for DRAM (O1448);
// else a minimal set of limits that together leave nothing (O1450). Of several candidates, the closest one is
// reported. If the budget is spent first, it is the closest of those examined, and the set may not be
// minimal.
std::vector<Reason> explain_infeasible(std::span<const Attempt> attempts, const Defects& defects,
                                       const machine::OperatorModel* operators = nullptr,
                                       const base::Budget& budget = {});

}  // namespace orrery::dataflow
