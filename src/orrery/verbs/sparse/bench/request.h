// What `sparse bench` is asked.
#pragma once

#include <string>

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

}  // namespace orrery::verbs
