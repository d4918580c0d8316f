// The pipeline schedules, event by event. For the trace of an iteration and for tests of the closed forms in
// evaluate.cc.
#pragma once

#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

enum class Work { kForward, kBackward, kWeightGradient };

struct StageEvent {
  int stage = 0;
  int chunk = 0;  // model chunk of an interleaved stage
  base::Count microbatch = 0;
  Work work = Work::kForward;
  double start_s = 0;
  double end_s = 0;
};

// Seconds of one stage's work on one microbatch, all its chunks together.
struct StageWork {
  double forward = 0;
  double backward = 0;         // of these with respect to inputs only
  double weight_gradient = 0;  // schedules that put it off only
  double apart = 0;            // DualPipe: more, where forward and backward pass do not go side by side
};

// Every event of one iteration's pipeline, ordered by start, then stage. A stage spends `boundary_s` on the transfer of
// every forward and backward event, inside the event and before its work. At most stages x microbatches x interleave x
// 3 events. The plan must be possible(): interleaving needs 1F1B, zero-bubble as many microbatches as stages, DualPipe
// (dualpipe.h) an even number of either and two microbatches for each stage; stages folded to a V have two equal
// chunks. `group` microbatches go through a chunk of an interleaved stage in a row; 0: as many as there are stages.
std::vector<StageEvent> simulate(const std::vector<StageWork>& stages, base::Count microbatches, base::Count interleave,
                                 Schedule schedule, double boundary_s = 0, base::Count group = 0);

// The pipeline of an evaluated iteration. Where layers are dealt evenly it ends at iteration_s - drain_s, GPipe and
// uneven stages excepted: there the closed form is of the slowest stage, within a few per cent.
std::vector<StageEvent> simulate(const Iteration& iteration, const Plan& plan);

// When the last event ends.
double makespan(const std::vector<StageEvent>& events);

}  // namespace orrery::cluster
