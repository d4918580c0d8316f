// A model and texts: what every run of a model on texts is asked by.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/inputs/networks/pruned_model.h"
#include "orrery/inputs/networks/task_examples.h"

namespace orrery::verbs {

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

// The rows of the request, read where it does not bring them.
std::shared_ptr<const TextRows> rows_of(const TextRequest& request);

}  // namespace orrery::verbs
