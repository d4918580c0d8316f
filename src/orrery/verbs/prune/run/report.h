// The answer of `sparse run`: its table and the JSON document "orrery.sparse_run/1".
#pragma once

#include <string>

#include "orrery/verbs/prune/run/run.h"

namespace orrery::verbs {

struct SparseRunDocument {
  std::string version;
  const SparseRun* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_run_json(const SparseRunDocument& document);
std::string sparse_run_table(const SparseRun& answer);

}  // namespace orrery::verbs
