// Answers of `sparse sweep`: a table and the JSON document "orrery.sparse_sweep/1".
#pragma once

#include <string>

#include "orrery/verbs/prune/sweep/run.h"

namespace orrery::verbs {

struct SparseSweepDocument {
  std::string version;
  const SparseSweep* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_sweep_json(const SparseSweepDocument& document);
std::string sparse_sweep_table(const SparseSweep& answer);

}  // namespace orrery::verbs
