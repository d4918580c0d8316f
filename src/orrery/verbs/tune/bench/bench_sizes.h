// Which sizes `tune bench` measures at: of a model of the catalogue, or in Substation's letters.
#pragma once

#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/verbs/tune/bench/run.h"

namespace orrery::verbs {

struct BenchSizes {
  tuning::Sizes sizes;
  base::Diagnostics warnings;
};

// Throws what tune_bench says of sizes and names.
BenchSizes bench_sizes(const TuneBenchRequest& request);

// nullptr where there is none.
const tuning::NamedContraction* contraction_named(const std::string& name);

}  // namespace orrery::verbs
