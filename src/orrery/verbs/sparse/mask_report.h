// Answers of `sparse measure` and `sparse mask`: tables and the JSON documents "orrery.sparse_measure/1" and
// "orrery.sparse_mask/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/mask/run.h"
#include "orrery/verbs/sparse/measure/run.h"

namespace orrery::verbs {

Document<SparseMeasurement> sparse_measure_document();
std::string sparse_measure_table(const SparseMeasurement& answer);

Document<SparseMask> sparse_mask_document();
std::string sparse_mask_table(const SparseMask& answer);

}  // namespace orrery::verbs
