// The answer of `sparse run`: its table and the JSON document "orrery.sparse_run/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_run.h"

namespace orrery::report {

struct SparseRunDocument {
  std::string version;
  const scenario::SparseRun* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_run_json(const SparseRunDocument& document);
std::string sparse_run_table(const scenario::SparseRun& answer);

}  // namespace orrery::report
