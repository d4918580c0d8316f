// `orrery sparse study`: a task of Sanger's learned and judged with dense, predicted and static attention.
#pragma once

#include "orrery/verbs/sparse/study/answer.h"
#include "orrery/verbs/sparse/study/request.h"

namespace orrery::verbs {

// Throws InputError as study_task(), read_study_data(), train_task() and evaluate_task() do.
SparseStudy sparse_study(const SparseStudyRequest& request);

}  // namespace orrery::verbs
