// Operations and accesses of a run, from its plan: what energy is made of.
#pragma once

#include "orrery/engines/accelerator/run_plan.h"

namespace orrery::accelerator {

struct CountedRun {
  Operations operations;
  Memories memories;
};

// `seen`: pairs of a query and a key that it may see, in tiles whose mask is predicted.
CountedRun counted_run(const Instance& instance, const RunPlan& plan, Count depth, Count seen);

}  // namespace orrery::accelerator
