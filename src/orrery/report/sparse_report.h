// Answers of `sparse measure` and `sparse mask`: tables and the JSON documents "orrery.sparse_measure/1" and
// "orrery.sparse_mask/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_mask.h"
#include "orrery/scenario/sparse_measure.h"

namespace orrery::report {

struct SparseMeasureDocument {
  std::string version;
  const scenario::SparseMeasurement* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_measure_json(const SparseMeasureDocument& document);
std::string sparse_measure_table(const scenario::SparseMeasurement& answer);

struct SparseMaskDocument {
  std::string version;
  const scenario::SparseMask* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_mask_json(const SparseMaskDocument& document);
std::string sparse_mask_table(const scenario::SparseMask& answer);

}  // namespace orrery::report
