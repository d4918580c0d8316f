// Pipelines that are folded to a V: ZB-V, V-Half, V-Min.
#pragma once

#include <vector>

#include "orrery/engines/cluster/pipeline/schedule.h"

namespace orrery::cluster {

// Of an accelerator's two chunks, seconds on one microbatch: the one on the way down, the one on the way up.
struct VWork {
  StageWork down, up;
};

// Every event, as simulate() in schedule.h has them; `chunk` 1 is on the way up. At least two accelerators.
std::vector<StageEvent> simulate_v(const std::vector<VWork>& accelerators, base::Count microbatches, Schedule schedule,
                                   double boundary_s = 0);

// When the last of them ends, without transfers.
double v_seconds(const std::vector<VWork>& accelerators, base::Count microbatches, Schedule schedule);

// Microbatches whose activations an accelerator holds at most, both chunks together.
base::Count v_held(Schedule schedule, base::Count accelerators);

// Transfers that a pipeline with equal passes waits for besides four of each microbatch.
double v_crossings(Schedule schedule, base::Count accelerators, base::Count microbatches);

}  // namespace orrery::cluster
