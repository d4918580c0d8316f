// The JSON document of `train`: schema "orrery.train/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

struct TrainDocument {
  std::string version;
  const TrainedModel* trained = nullptr;  // borrowed
  double seconds = 0;                     // wall clock of the whole command
};

// Indented, ending in a newline; doubles round-trip exactly. All but `timing` is a pure function of the input.
std::string train_json(const TrainDocument& document);

}  // namespace orrery::verbs
