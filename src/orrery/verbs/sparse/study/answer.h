// What `sparse study` answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/inputs/networks/task_evaluation.h"
#include "orrery/verbs/sparse/study/study_data.h"

namespace orrery::verbs {

struct StudyVariant {
  std::string name, rule, folder;
  std::int64_t steps = 0;
  std::vector<double> losses;                   // of each step of this run
  std::vector<TaskMetric> metrics;              // as the task is judged, of each held-out set
  std::optional<double> density, load_balance;  // of the masks of evaluation; nothing: dense
  double train_seconds = 0, eval_seconds = 0;
};

struct SparseStudy {
  StudyTask task;
  std::string model;
  base::Count texts = 0, held = 0;  // rows
  std::vector<StudyVariant> variants;
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
