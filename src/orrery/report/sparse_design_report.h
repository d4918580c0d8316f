// Answers of `sparse design`: a table, and the JSON document "orrery.sparse_design/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_design.h"

namespace orrery::report {

struct SparseDesignDocument {
  std::string version;
  const scenario::SparseDesign* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_design_json(const SparseDesignDocument& document);
std::string sparse_design_table(const scenario::SparseDesign& answer);

}  // namespace orrery::report
