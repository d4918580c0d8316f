// `orrery sparse measure`: a mask that is predicted or read, and what it is worth.
#pragma once

#include <string>

#include "orrery/verbs/sparse/measure/answer.h"
#include "orrery/verbs/sparse/measure/request.h"

namespace orrery::verbs {

// Throws InputError; beside those of reading: O1816 (a folder without masks), O1817 (Sanger's lengths),
// O1842 (masks of a folder that differ in size). Warns O1819 of what a mask that was read keeps outside the valid
// tokens, and O1841 of what the limits left out.
SparseMeasurement measure_sparse(const SparseMeasureRequest& request);

// A line for each mask, as Sanger's log has them.
std::string load_balance_csv(const SparseMeasurement& answer);

}  // namespace orrery::verbs
