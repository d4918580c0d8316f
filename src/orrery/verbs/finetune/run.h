// Whole models on texts: embeddings, how well a task is done, training.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/inputs/networks/pruned_model.h"
#include "orrery/inputs/networks/task_examples.h"
#include "orrery/runtime/network/trainer.h"

namespace orrery::verbs {

enum class Pool { kMean, kFirst };

struct TextRequest {
  std::string checkpoint, data;
  std::shared_ptr<const TextRows> rows;  // in place of what `data` has
  std::optional<Task> task;              // nothing: as the checkpoint's head says
  Columns columns;
  std::optional<base::Count> batch, most_tokens;
  std::optional<std::size_t> usual_tokens;  // where most_tokens is not given and the model takes as many
  base::Count stride = 128;                 // tokens that windows of a context share
  PruningRequest pruning;                   // of `tune eval`, `tune train`, `sparse run`
  kernels::Type type = kernels::Type::kF32;
  std::uint64_t seed = 0;
  base::Limits limits = {.memory = 0};
  std::function<const std::atomic<bool>*()> interruptible;
};

struct EmbeddedText {
  std::size_t tokens = 0;
  std::vector<float> embedding;
};

struct Embedded {
  std::string model;
  Pool pool = Pool::kMean;
  std::size_t width = 0, cut = 0;
  std::vector<EmbeddedText> texts;
  double seconds = 0;  // of the model alone
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError as open_checkpoint and read_text_rows do.
Embedded tune_embed(const TextRequest& request, Pool pool);

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

Evaluated tune_eval(const TextRequest& request);

struct GeneratedText {
  std::string text;  // what was added, without special tokens
  std::vector<std::int32_t> ids;
  std::vector<float> log_probabilities;
  bool ended = false;  // by the token that ends texts; else by the number of tokens
};

struct Generated {
  std::string model;
  std::size_t cut = 0;
  base::Count most = 0;
  std::vector<GeneratedText> texts;
  double seconds = 0;  // of the model alone
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Greedy: of a model of two stacks what its decoder makes of each text, of a model that predicts the next word how each
// text goes on, by at most `most` tokens. Throws InputError: as above; O1654 where the model does neither.
Generated tune_generate(const TextRequest& request, base::Count most);

struct TrainTextsRequest {
  TextRequest texts;
  std::string output;  // the folder that is written
  network::TrainingPlan plan;
  double epochs = 3;
  std::optional<base::Count> steps, warmup;
  std::optional<double> warmup_share;
  base::Count save_every = 0;  // steps; 0: at the end
  bool resume = false;
  std::function<void(const network::StepReport& step, std::int64_t of, double seconds_left)> told;
};

struct TrainedTexts {
  std::string model, task, output;
  std::size_t texts = 0, examples = 0, cut = 0;
  std::int64_t steps = 0, of = 0, resumed_at = 0;
  std::vector<network::StepReport> history;
  std::vector<std::string> fresh;
  std::string attention;  // in words
  double seconds = 0;
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Writes model.safetensors, config.json, the tokenizer's files and training_state.safetensors to `output`, also when it
// is interrupted or time is up: --resume goes on from there to the same bits. Throws InputError: as above, O1654 (a
// task that the model has no head for), O1655 (a state of another run).
TrainedTexts tune_train(const TrainTextsRequest& request);

std::shared_ptr<const TextRows> rows_of(const TextRequest& request);
const char* name_of(Task task);

}  // namespace orrery::verbs
