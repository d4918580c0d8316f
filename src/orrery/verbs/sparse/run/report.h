// The answer of `sparse run`: its table and the JSON document "orrery.sparse_run/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/run/run.h"

namespace orrery::verbs {

Document<SparseRun> sparse_run_document();
std::string sparse_run_table(const SparseRun& answer);

}  // namespace orrery::verbs
