// One iteration's pipeline as a trace: what every stage does when, for ui.perfetto.dev or chrome://tracing.
#pragma once

#include <string>

#include "orrery/base/numbers/count.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// Events that the trace of a plan has.
base::Count trace_events(const cluster::Plan& plan);

// A JSON document of the Trace Event Format: a process for the pipeline with a thread for each stage, times in
// microseconds. "F 3" is the forward pass of microbatch 3, "B 3" its backward pass (recomputation included), "W 3" its
// weight gradients where the schedule puts them off; "end of iteration" is what follows the pipeline: gradients and
// the optimiser's step. O(trace_events).
std::string perfetto_trace(const TrainedModel& trained);

}  // namespace orrery::verbs
