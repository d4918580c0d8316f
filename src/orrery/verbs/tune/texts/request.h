// What `tune embed`, `generate`, `eval` and `train` are asked: a model and texts, and how to train.
#pragma once

#include "orrery/inputs/networks/task_training.h"
#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

// How the vectors of a text's tokens become one: their mean, or the first.
enum class Pool { kMean, kFirst };

}  // namespace orrery::verbs
