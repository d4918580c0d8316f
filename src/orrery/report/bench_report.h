// `tune bench` as text and as the document "orrery.tune_bench/1".
#pragma once

#include <string>

#include "orrery/scenario/tune_measured.h"

namespace orrery::report {

struct BenchDocument {
  std::string version;
  const scenario::TunedBench* bench = nullptr;  // borrowed
  double seconds = 0;
};

std::string bench_json(const BenchDocument& document);
std::string bench_table(const scenario::TunedBench& bench);

}  // namespace orrery::report
