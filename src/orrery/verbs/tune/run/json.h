// The JSON document of `tune run`: schema "orrery.tune_run/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/verbs/tune/run/run.h"

namespace orrery::verbs {

struct TuneDocument {
  std::string version;
  const TunedRun* run = nullptr;  // borrowed
  double seconds = 0;             // wall clock of the whole command
};

std::string tune_json(const TuneDocument& document);

}  // namespace orrery::verbs
