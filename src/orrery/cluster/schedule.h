// Which stage does what when: the pipeline schedules, event by event. For the trace of an iteration and for tests of
// the closed forms in evaluate.cc.
#pragma once

#include <vector>

#include "orrery/base/count.h"
#include "orrery/cluster/iteration.h"
#include "orrery/cluster/plan.h"

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
  double backward = 0;         // zero-bubble: with respect to inputs only
  double weight_gradient = 0;  // zero-bubble only
};

// Every event of one iteration's pipeline, in order of time, stage by stage within a moment. `boundary_s` is the time
// between a stage's end and the next one's possible start. At most stages x microbatches x interleave x 3 events.
std::vector<StageEvent> simulate(const std::vector<StageWork>& stages, base::Count microbatches, base::Count interleave,
                                 Schedule schedule, double boundary_s = 0);

// When the last event ends.
double makespan(const std::vector<StageEvent>& events);

}  // namespace orrery::cluster
