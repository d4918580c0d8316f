// The answer of `sparse study`: its table and the JSON document "orrery.sparse_study/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_study.h"

namespace orrery::report {

struct SparseStudyDocument {
  std::string version;
  const scenario::SparseStudy* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_study_json(const SparseStudyDocument& document);
std::string sparse_study_table(const scenario::SparseStudy& answer);

}  // namespace orrery::report
