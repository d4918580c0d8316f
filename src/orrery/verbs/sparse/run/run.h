// `orrery sparse run`: a model on texts, with dense and with pruned attention.
#pragma once

#include <string>

#include "orrery/verbs/sparse/run/answer.h"
#include "orrery/verbs/sparse/run/request.h"

namespace orrery::verbs {

// Throws InputError: as embed_texts() and open_pruning(); O1803 (masks that are too large).
SparseRun sparse_run(const SparseRunRequest& request);

// A line for each mask, as Sanger's log has them.
std::string load_balance_csv(const SparseRun& answer);

}  // namespace orrery::verbs
