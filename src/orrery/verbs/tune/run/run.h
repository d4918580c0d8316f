// One layer run on this machine and measured: forward, backward, operator by operator, beside the machine's peaks.
#pragma once

#include "orrery/verbs/tune/run/answer.h"
#include "orrery/verbs/tune/run/request.h"

namespace orrery::verbs {

// Throws InputError: what runnable_layer says; of a layout file O1746 and O1747; O1525 where memory does not suffice;
// O1526 where time ended before one iteration did; O1511 for probabilities. Nothing runs before sizes and memory are
// checked. Warns with O1530 where other programs took much of the processors meanwhile.
TunedRun tune_run(const TuneRunRequest& request);

// Bytes that this machine has free for a process, and that limits leave it.
double free_memory();

}  // namespace orrery::verbs
