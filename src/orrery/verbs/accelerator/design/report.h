// Answers of `sparse design`: a table, and the JSON document "orrery.sparse_design/1".
#pragma once

#include <string>

#include "orrery/verbs/accelerator/design/run.h"

namespace orrery::verbs {

struct SparseDesignDocument {
  std::string version;
  const SparseDesign* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_design_json(const SparseDesignDocument& document);
std::string sparse_design_table(const SparseDesign& answer);

}  // namespace orrery::verbs
