// The answer of `sparse study`: its table and the JSON document "orrery.sparse_study/1".
#pragma once

#include <string>

#include "orrery/verbs/prune/study/run.h"

namespace orrery::verbs {

struct SparseStudyDocument {
  std::string version;
  const SparseStudy* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_study_json(const SparseStudyDocument& document);
std::string sparse_study_table(const SparseStudy& answer);

}  // namespace orrery::verbs
