// Answers of `sparse measure` and `sparse mask`: tables and the JSON documents "orrery.sparse_measure/1" and
// "orrery.sparse_mask/1".
#pragma once

#include <string>

#include "orrery/verbs/prune/mask/run.h"
#include "orrery/verbs/prune/measure/run.h"

namespace orrery::verbs {

struct SparseMeasureDocument {
  std::string version;
  const SparseMeasurement* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_measure_json(const SparseMeasureDocument& document);
std::string sparse_measure_table(const SparseMeasurement& answer);

struct SparseMaskDocument {
  std::string version;
  const SparseMask* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_mask_json(const SparseMaskDocument& document);
std::string sparse_mask_table(const SparseMask& answer);

}  // namespace orrery::verbs
