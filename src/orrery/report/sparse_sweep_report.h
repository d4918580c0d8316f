// Answers of `sparse sweep`: a table and the JSON document "orrery.sparse_sweep/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_sweep.h"

namespace orrery::report {

struct SparseSweepDocument {
  std::string version;
  const scenario::SparseSweep* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_sweep_json(const SparseSweepDocument& document);
std::string sparse_sweep_table(const scenario::SparseSweep& answer);

}  // namespace orrery::report
