// `orrery sparse study`: a task of Sanger's learned and judged with dense, predicted and static attention.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/inputs/networks/task_evaluation.h"
#include "orrery/inputs/networks/task_training.h"
#include "orrery/verbs/prune/study/study_data.h"

namespace orrery::verbs {

struct SparseStudyRequest {
  std::string task, data;
  TextRequest texts;  // the checkpoint, types, limits; batch and most_tokens, where not the task's
  std::optional<double> epochs, rate, threshold;
  std::optional<base::Count> steps, accumulate;
  std::vector<std::string> variants = {"dense", "dynamic", "static"};
  std::string pattern = "longformer";  // of the static one
  std::string config;                  // of the dynamic one, with Sanger's keys; empty: the task's threshold, 4 bits
  std::string output;                  // a folder for each variant in it
  bool resume = false;
  std::function<void(const std::string& variant, const network::StepReport& step, std::int64_t of)> told;
};

struct StudyVariant {
  std::string name, rule, folder;
  std::int64_t steps = 0;
  std::vector<double> losses;                   // of each step of this run
  std::vector<TaskMetric> metrics;                  // as the task is judged, of each held-out set
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

// Throws InputError as study_task(), read_study_data(), train_task() and evaluate_task() do.
SparseStudy sparse_study(const SparseStudyRequest& request);

}  // namespace orrery::verbs
