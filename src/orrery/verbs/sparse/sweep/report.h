// Answers of `sparse sweep`: a table and the JSON document "orrery.sparse_sweep/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/sweep/run.h"

namespace orrery::verbs {

Document<SparseSweep> sparse_sweep_document();
std::string sparse_sweep_table(const SparseSweep& answer);

}  // namespace orrery::verbs
