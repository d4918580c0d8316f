// Options about plans that are partly open.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/scenario/train.h"

namespace orrery::cli {

// --gpus N or N..M, --global-batch N, N,N or N..M.
void declare_sizes(CommandLine& line, scenario::TrainRequest& request);

// --objective, --pareto, --top, --max-memory, --max-cost, --max-time, --mtbf, --checkpoint-time, --restart-time, --why,
// --certify.
void declare_plan_question(CommandLine& line, scenario::PlanQuestion& question);

}  // namespace orrery::cli
