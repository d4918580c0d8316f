// Options of verbs that ask about a model on a system, each declared once.
#pragma once

#include <string>

#include "orrery/cli/command_line.h"
#include "orrery/inputs/systems/run_question.h"

namespace orrery::verbs {

// --model, --ignore, --like, --system, --chip, --fuse, --seq. `instead`: of what the model is given, for help; empty:
// nothing.
void declare_run(CommandLine& line, RunQuestion& question, const std::string& instead = "");

// --gpus, --global-batch.
void declare_sizes(CommandLine& line, RunQuestion& question);

// --micro-batch, --tp, --pp, --dp, --precision. `micro_batch` and `open`: what becomes of it and of degrees that are
// not given.
void declare_spread(CommandLine& line, RunQuestion& question, const std::string& micro_batch, const std::string& open);

// A number of a plan, under the name and within the range of cluster::fields.
void declare_degree(CommandLine& line, const char* field, std::optional<base::Count>& value, const std::string& what);

}  // namespace orrery::verbs
