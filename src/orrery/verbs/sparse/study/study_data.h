// The tasks of Sanger's scripts: how each is trained, and its data sets as they are published and as the datasets
// library exports them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/inputs/networks/task_examples.h"

namespace orrery::verbs {

struct StudyTask {
  std::string name;
  Task task = Task::kClassification;
  base::Count tokens = 128, batch = 32, accumulate = 1;
  bool first_at_once = false;  // network::TrainingPlan has it
  double clip = 1;             // the most that the norm of the gradients may be; 0: any
  double epochs = 3, rate = 2e-5;
  double threshold = 0.02;           // of predicted probabilities
  std::vector<std::string> metrics;  // that the task is judged by
};

// cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli, squad, squad_v2, cloth, with the scripts' figures.
std::vector<std::string> study_task_names();
// Throws InputError O1874 for a name that is none.
StudyTask study_task(const std::string& name);

struct HeldRows {
  std::string suffix;  // of its metrics' names: "" or, of MNLI's mismatched set, "_mm"
  std::shared_ptr<const TextRows> rows;
};

struct StudyData {
  Columns columns;
  std::shared_ptr<const TextRows> train;
  std::vector<HeldRows> held;
};

// From the task's folder, or the one above it. Throws InputError: O1873 (files that are not there), O1650 (rows), O1875
// (articles). Adds the warning O1876 where rows were left out.
StudyData read_study_data(const StudyTask& task, const std::string& folder, base::Diagnostics& warnings);

// SQuAD: {"data": [{"paragraphs": [{"context", "qas": [{"question", "answers": [{"text", "answer_start"}]}]}]}]}, or a
// list or lines of flat examples {"question", "context", "answers": {"text": [], "answer_start": []}}.
TextRows read_squad(const std::string& path);
// CLOTH: the .json files {"article", "options", "answers"} below `folder` that lie in a folder named `part`.
TextRows read_cloth(const std::string& folder, const std::string& part);

}  // namespace orrery::verbs
