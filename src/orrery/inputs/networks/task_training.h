// Fine-tuning: a checkpoint's model trained on a file's texts, and the folder that it leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/inputs/networks/text_request.h"
#include "orrery/runtime/network/trainer.h"

namespace orrery::verbs {

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
// is interrupted or time is up: --resume goes on from there to the same bits. Throws InputError: as open_task, O1654 (a
// task that the model has no head for), O1655 (a state of another run).
TrainedTexts train_task(const TrainTextsRequest& request);

}  // namespace orrery::verbs
