// How well a checkpoint does its task on texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

struct TaskMetric {
  std::string name;
  double value = 0;  // nan: not defined
};

// What a model says of a row.
struct Prediction {
  std::size_t row = 0;         // from 0
  std::string label;           // of classification
  std::vector<double> scores;  // logits of the classes; the value, of regression
  std::string answer;          // to a question; empty: it has none
};

struct Evaluated {
  std::string model, task;
  std::size_t texts = 0, examples = 0, cut = 0;
  double loss = 0;
  std::vector<TaskMetric> metrics;
  std::vector<std::string> labels;      // of classification: the classes in the order of scores
  std::vector<Prediction> predictions;  // by rows; none of language tasks
  std::optional<PrunedFigures> pruned;  // nothing: attention was dense
  double seconds = 0;
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError as open_task and read_text_rows do.
Evaluated evaluate_task(const TextRequest& request);

}  // namespace orrery::verbs
