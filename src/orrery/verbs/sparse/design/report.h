// Answers of `sparse design`: a table, and the JSON document "orrery.sparse_design/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/design/run.h"

namespace orrery::verbs {

Document<SparseDesign> sparse_design_document();
std::string sparse_design_table(const SparseDesign& answer);

}  // namespace orrery::verbs
