// The answer of `sparse bench`: its text and the JSON document "orrery.sparse_bench/1".
#pragma once

#include <string>

#include "orrery/scenario/dense_block.h"

namespace orrery::report {

struct SparseBenchDocument {
  std::string version;
  const scenario::SparseBench* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_bench_json(const SparseBenchDocument& document);
std::string sparse_bench_text(const scenario::SparseBench& answer);

}  // namespace orrery::report
