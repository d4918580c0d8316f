// `orrery sparse bench`: a dense attention block on this machine, in the form of Sanger's bench_cpu_gpu.py.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::verbs {

struct SparseBenchRequest {
  std::string model = "bert-base";  // one of sparse_bench_models(), where not all
  bool all = false;                 // every model at the lengths below
  base::Count batch = 1, tokens = 128;
  kernels::Type type = kernels::Type::kF32;
  base::Limits limits = {.memory = 0};
};

struct BenchedBlock {
  std::string model;
  base::Count batch = 0, tokens = 0, width = 0, heads = 0;
  std::vector<double> groups;  // ms: the means of ten runs each
  double mean = 0, deviation = 0;
};

// What others published of other machines.
struct PublishedFigure {
  std::string what, source;
  double value = 0;
};

struct SparseBench {
  std::vector<BenchedBlock> blocks;
  std::vector<PublishedFigure> published;
  std::string isa;
  int threads = 0;
  kernels::Type type = kernels::Type::kF32;
  bool ended_early = false;
};

std::vector<std::string> sparse_bench_models();

// Throws InputError: O1880 (no such model, sizes), std::bad_alloc.
SparseBench sparse_bench(const SparseBenchRequest& request);

// How many times faster than others Sanger's array is said to be.
std::vector<PublishedFigure> published_speedups();

// bench_results.csv: a column for each model, a row for each length, mean ms.
std::string bench_csv(const SparseBench& answer);

}  // namespace orrery::verbs
