// Options about plans that are partly open.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// --gpus N or N..M, --global-batch N, N,N or N..M.
void declare_sizes(CommandLine& line, TrainRequest& request);

// --objective, --pareto, --top, --max-memory, --max-cost, --max-time, --mtbf, --checkpoint-time, --restart-time, --why,
// --certify.
void declare_plan_question(CommandLine& line, PlanQuestion& question);

}  // namespace orrery::verbs
