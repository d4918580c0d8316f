// The answer of `sparse bench`: its text and the JSON document "orrery.sparse_bench/1".
#pragma once

#include <string>

#include "orrery/verbs/accelerator/bench/run.h"

namespace orrery::verbs {

struct SparseBenchDocument {
  std::string version;
  const SparseBench* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_bench_json(const SparseBenchDocument& document);
std::string sparse_bench_text(const SparseBench& answer);

}  // namespace orrery::verbs
