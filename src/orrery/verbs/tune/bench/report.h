// `tune bench` as text and as the document "orrery.tune_bench/1".
#pragma once

#include <string>

#include "orrery/verbs/tune/bench/run.h"

namespace orrery::verbs {

struct BenchDocument {
  std::string version;
  const TunedBench* bench = nullptr;  // borrowed
  double seconds = 0;
};

std::string bench_json(const BenchDocument& document);
std::string bench_table(const TunedBench& bench);

}  // namespace orrery::verbs
