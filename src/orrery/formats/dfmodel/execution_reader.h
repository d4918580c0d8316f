// `execution` (or `miscellany`, as the first generation calls it) and `gurobi` into dataflow::Execution and
// dataflow::SolverHints.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/formats/dfmodel/block.h"

namespace orrery::formats::dfmodel {

// Errors: O1404, O1405 (fields), O1407 (workload), O1418 (contradictions, unknown terms).
dataflow::Execution read_execution(const Entry& execution, base::Diagnostics& found);

dataflow::SolverHints read_hints(const Block& gurobi, base::Diagnostics& found);

}  // namespace orrery::formats::dfmodel
