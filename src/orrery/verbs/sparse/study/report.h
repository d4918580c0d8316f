// The answer of `sparse study`: its table and the JSON document "orrery.sparse_study/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/study/run.h"

namespace orrery::verbs {

Document<SparseStudy> sparse_study_document();
std::string sparse_study_table(const SparseStudy& answer);

}  // namespace orrery::verbs
