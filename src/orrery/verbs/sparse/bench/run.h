// `orrery sparse bench`: a dense attention block on this machine, in the form of Sanger's bench_cpu_gpu.py.
#pragma once

#include <string>
#include <vector>

#include "orrery/verbs/sparse/bench/answer.h"
#include "orrery/verbs/sparse/bench/request.h"

namespace orrery::verbs {

std::vector<std::string> sparse_bench_models();

// Throws InputError: O1880 (no such model, sizes), std::bad_alloc.
SparseBench sparse_bench(const SparseBenchRequest& request);

// How many times faster than others Sanger's array is said to be.
std::vector<PublishedFigure> published_speedups();

// bench_results.csv: a column for each model, a row for each length, mean ms.
std::string bench_csv(const SparseBench& answer);

}  // namespace orrery::verbs
