// The verbs of `orrery sparse`.
#pragma once

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

int run_sparse_measure(const Arguments& arguments, Console& console);
int run_sparse_mask(const Arguments& arguments, Console& console);
int run_sparse_latency(const Arguments& arguments, Console& console);
int run_sparse_pack(const Arguments& arguments, Console& console);
int run_sparse_run(const Arguments& arguments, Console& console);
int run_sparse_study(const Arguments& arguments, Console& console);
int run_sparse_bench(const Arguments& arguments, Console& console);
int run_sparse_break_even(const Arguments& arguments, Console& console);
int run_sparse_rtl(const Arguments& arguments, Console& console);
int run_sparse_sweep(const Arguments& arguments, Console& console);
int run_sparse_simulate(const Arguments& arguments, Console& console);
int run_sparse_design(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
