// `orrery tune embed`, `tune eval` and `tune train`.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

int run_tune_embed(const Arguments& arguments, Console& console);
int run_tune_generate(const Arguments& arguments, Console& console);
int run_tune_eval(const Arguments& arguments, Console& console);
int run_tune_train(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
